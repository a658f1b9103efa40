import type { Routes } from './site.ts'

const LONG = 'Text of the page, which somebody wants to read later. '.repeat(20)

const page = (body: string) => `<!doctype html><meta charset="utf-8"><title>Covered</title>
<style>.fixed { position: fixed; inset: 0; background: white }</style>${body}`

/** Pages with layers over them that are the page, or belong to it: each has an element `own` that must stay visible. */
export const KEPT: Readonly<Record<string, string>> = {
  '/login-dialog': `<p>Welcome</p><div id="own" class="fixed" role="dialog">Sign in to read on
    <input type="password"><button>Sign in</button></div>`,
  '/application': `<div id="own" class="fixed"><h1>Pictures</h1><canvas></canvas>
    <p>This page needs cookies.</p><button>Next</button></div>`,
  '/reference': `<div id="own" class="fixed" style="right: auto; width: 200px"><button>Fold</button>
    <a href="#a">res.clearCookie()</a> <a href="#b">res.cookie()</a> <a href="#c">Datenschutz</a></div><p>${LONG}</p>`,
  '/modal-article': `<p>${LONG}</p><div class="fixed" role="dialog" aria-modal="true">
    <article id="own">What the URL is about, before the list that it was chosen from.</article></div>`,
  '/map': `<p>${LONG}</p><div id="own" class="fixed" style="background: rgba(0, 0, 0, 0.2)"><canvas></canvas></div>`,
  '/fills-late': `<p>A heading that is there first</p><div id="own" class="fixed" role="dialog">...</div>
    <button onclick="own.textContent = '${LONG}'; this.remove()">Read more</button>`,
}

/** Buttons that do something with the visitor's rights. */
const PRESSED = `<form id="order" action="/bought" method="post" target="hidden"></form><iframe name="hidden"></iframe>
<button form="order">Show all</button>
<button aria-expanded="false" aria-controls="sure" onclick="fetch('/deleted', { method: 'POST' })">Delete</button>
<p id="sure" hidden>Deleted.</p>
<button aria-expanded="false" aria-controls="fields" onclick="fetch('/asked')">Find</button>
<p id="fields" hidden><input></p>
<button aria-expanded="false" aria-controls="field" onclick="fetch('/asked')">Look</button><input id="field" hidden>
<button onclick="setTimeout(() => location = '/left', 800); this.remove()">Show more</button>
<details><summary>More</summary>in details</details>
<button id="more" onclick="this.replaceWith('behind a button')">Read more</button>`

export const coveredPages: Routes = {
  ...Object.fromEntries(Object.entries(KEPT).map(([path, body]) => [path, page(body)])),
  '/pressed': page(PRESSED),
  '/named': page(
    `<link rel="stylesheet"
       href='data:text/css,@font-face { font-family: Here; src: local("OpenSans-Regular"), url(here) }'>
     <fb:like style="position: fixed; font-family: Here">one</fb:like><fb:like style="position: fixed">other</fb:like>`,
  ),
  '/fades': page('<style>@keyframes in { from { opacity: 0 } }</style><p style="animation: in 900s">Text</p>'),
}
