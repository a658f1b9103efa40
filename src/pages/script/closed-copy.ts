import { closedAddress, closedCandidates, sheetIn } from './closed-address.ts'
import { closedCss } from './closed-css.ts'
import { make } from './dom.ts'

/**
 * What a copy may load: files beside it. The policy of this page also controls the frame that shows it; this one keeps
 * it from having frames of its own.
 */
const COPY_POLICY =
  "default-src 'none'; img-src 'self' file: data:; media-src 'self' file: data:; font-src 'self' file: data:; " +
  "style-src 'self' file: 'unsafe-inline'"
const NOT_SHOWN =
  'script, base, meta[http-equiv], iframe, frame, object, embed, applet, bgsound, portal, fencedframe, ' +
  'link:not([rel~="stylesheet" i]), [attributeName*="href" i], [attributename*="href" i]'
/** Attributes with an address, those with CSS, and those that send, run or take the focus. */
const ADDRESSES =
  /^(?:xlink:)?(?:href|src|poster|background|data|(?:form)?action|cite|longdesc|lowsrc|dynsrc|icon|manifest|profile)$/i
const STYLED = /^(?:style|fill|stroke|filter|mask|clip-path|cursor|marker(?:-\w+)?|from|to|by|values)$/i
const SENDS = /^(?:on|ping$|attributionsrc$|autofocus$|nonce$|srcdoc$|imagesrcset$)/i
/** Text may become markup when it is parsed again: a text that needs more rounds than this is an attack. */
const ROUNDS = 6

/** Reads a property of an element or document safely: elements with names could shadow it. */
function reader<Of extends object, Name extends keyof Of>(of: { readonly prototype: Of }, name: Name) {
  const get = Object.getOwnPropertyDescriptor(of.prototype, name)?.get
  if (!get) throw new Error(`no property ${String(name)} can be read`)
  return (node: Of) => get.call(node) as Of[Name]
}
const attributesOf = reader(Element, 'attributes')
const nameOf = reader(Element, 'localName')
const rootOf = reader(Document, 'documentElement')
const headOf = reader(Document, 'head')
const doctypeOf = reader(Document, 'doctype')

/**
 * A page that loads, navigates and requests nothing: it has its policy, and nothing that a policy does not control.
 * Text may become markup when it is parsed again: so it is, until two rounds agree.
 * @param href of the copy
 */
export function closedCopy(text: string, href: string): string {
  const folder = href.slice(0, href.lastIndexOf('/') + 1)
  let written = text
  for (let round = 0; round < ROUNDS; round += 1) {
    const copy = new DOMParser().parseFromString(written, 'text/html')
    shut(rootOf(copy), new URL(folder, location.href).href)
    headOf(copy).prepend(
      make('meta', { 'http-equiv': 'Content-Security-Policy', content: COPY_POLICY }),
      make('base', { href: folder }),
    )
    const before = written
    written = `${doctypeOf(copy) ? '<!doctype html>' : ''}${rootOf(copy).outerHTML}`
    if (written === before) return written
  }
  return asSource(rootOf(new DOMParser().parseFromString(written, 'text/html')).textContent)
}

/** A text, shown as source. */
export const asSource = (text: string): string => make('pre', {}, text).outerHTML

/** Removes what no policy controls, and what leads out of the folder; also in templates, which may be shadow roots. */
function shut(root: Element | DocumentFragment, base: string): void {
  for (const element of root.querySelectorAll(NOT_SHOWN)) element.remove()
  for (const link of root.querySelectorAll('link')) {
    const [address, media] = [link.getAttribute('href') ?? '', link.getAttribute('media') ?? '']
    if (/alternate/i.test(link.getAttribute('rel') ?? '')) link.remove()
    // Nobody would rewrite the requests of a style sheet in an address.
    else if (/^\s*data:/i.test(address)) link.replaceWith(make('style', { media }, sheetIn(address)))
    else link.setAttribute('rel', 'stylesheet')
  }
  for (const element of [...(root instanceof Element ? [root] : []), ...root.querySelectorAll('*')]) {
    const kind = nameOf(element)
    const isLink = /^(?:a|area)$/.test(kind)
    for (const attribute of [...attributesOf(element)]) {
      const { name, value } = attribute
      if (SENDS.test(name)) Element.prototype.removeAttributeNode.call(element, attribute)
      else if (STYLED.test(name)) attribute.value = closedCss(value, base)
      else if (/^srcset$/i.test(name)) attribute.value = closedCandidates(value, base)
      else if (ADDRESSES.test(name) && !isLink) attribute.value = closedAddress(value, base)
    }
    if (kind === 'style') element.textContent = closedCss(element.textContent ?? '', base)
    if (isLink) lead(element)
    if (kind === 'template' && element instanceof HTMLTemplateElement) shut(element.content, base)
  }
}

/** The target of a link: a place in the copy, or nothing. */
function lead(link: Element): void {
  const target = (link.getAttribute('href') ?? '').trim()
  for (const name of ['accesskey', 'xlink:href']) link.removeAttribute(name)
  // With a base, a place in this page would become one in a folder.
  if (target.startsWith('#')) link.setAttribute('href', `about:srcdoc${target}`)
  else if (target !== '' && !target.startsWith('about:srcdoc#')) {
    // It looks like a link, but leads nowhere.
    if (target !== 'about:invalid')
      link.setAttribute('style', `${link.getAttribute('style') ?? ''};pointer-events:none!important`)
    link.setAttribute('href', 'about:invalid')
    link.setAttribute('tabindex', '-1')
  }
}
