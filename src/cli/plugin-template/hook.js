#!/usr/bin/env node
// Runs once for each page, in a folder of its own: the files that it leaves there are published when it succeeds.
const { existsSync, statSync, writeFileSync } = require('node:fs')

const url = process.argv.find((arg) => arg.startsWith('--url='))?.slice('--url='.length) ?? ''

// What earlier plugins made is beside: the page as it was served, for example.
const html = '../html/output.html'
const bytes = existsSync(html) ? statSync(html).size : 0
writeFileSync('NAME.json', `${JSON.stringify({ url, bytes })}\n`)

// One line of JSON says how it went; a status of `skipped` or `noresults` is no failure.
console.log(JSON.stringify({ type: 'ArchiveResult', status: 'succeeded', output_str: `${bytes} bytes of HTML` }))
