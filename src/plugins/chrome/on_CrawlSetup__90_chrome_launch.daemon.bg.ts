#!/usr/bin/env node
// The crawl's browser: one for all of its pages, restarted when it ends by itself.
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { sizeLimit } from '../../base/env-settings.ts'
import { messageOf } from '../../base/errors.ts'
import { isProcessFolder, makeShortFolder, PROFILES, processFolderOf, shortFolderOf } from '../../base/short-folder.ts'
import { showSourceLines } from '../../base/start/source-lines.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { browserNetwork } from '../../browse/browser/browser-network.ts'
import { findBrowser, NO_BROWSER_FOUND } from '../../browse/browser/find-browser.ts'
import { endBrowser, guardBrowser } from '../../browse/browser/guard.ts'
import { launchBrowser } from '../../browse/browser/launch.ts'
import type { RunningBrowser } from '../../browse/browser/start-browser.ts'
import { hasLogins } from '../../browse/persona/credentials.ts'
import { credentialsFor } from '../../browse/persona/credentials-for.ts'
import { ENDPOINT, NO_BROWSER, noteOf } from '../base/with-tab.ts'

/** A browser that ends sooner after its start than this is restarted only after this time. */
const SHORT_LIFE_MS = 5_000
const END_MS = 10_000
const MAX_MEMORY = 1024 * 1024 * 1024
/** ArchiveBox's code for "skipped". */
const SKIPPED = 10

const folder = process.cwd()
const ownId = process.env['ARCHIVEBOX_PROCESS_ID']
const short = ownId ? processFolderOf(ownId) : shortFolderOf(folder)
/** Its profile, which does not outlive the crawl. If we are killed, our runner removes both (left-folders.ts). */
const profiles = join(folder, PROFILES)
const remove = (each: string) => rmSync(each, { recursive: true, force: true, maxRetries: 5 })
const clean = () => [profiles, short].map(remove)

showSourceLines()
let running: RunningBrowser | undefined
let isOver = false
const over = Promise.withResolvers<void>()
process.on('SIGTERM', () => {
  isOver = true
  over.resolve()
})

const say = (line: string) => process.stderr.write(`${line}\n`)

/** The last line that a failed hook prints is the reason. */
function fail(error: unknown): never {
  say(messageOf(error))
  process.exit(1)
}

/** Whether a relay listens there. */
const isServed = (socket: string) =>
  new Promise<boolean>((resolve) => {
    connect(socket, () => resolve(true))
      .on('error', () => resolve(false))
      .end()
  })

const socket = (noteOf(folder, ENDPOINT) ?? '').replace(/^ws\+unix:|:\/$/g, '')
// Its launcher was killed, unless our data dir is a copy, and it serves the original.
if (isProcessFolder(dirname(socket)) && !(await isServed(socket))) remove(dirname(socket))
rmSync(join(folder, ENDPOINT), { force: true })
rmSync(join(folder, NO_BROWSER), { force: true })
const browser = await findBrowser(process.env).catch(fail)
const maxMemory = sizeLimit(process.env, 'CHROME_MAX_MEMORY', MAX_MEMORY).bytes
if (!browser) {
  writeWhole(folder, NO_BROWSER, NO_BROWSER_FOUND) // For the hooks of the pages.
  say(NO_BROWSER_FOUND)
  process.exit(SKIPPED)
}

const network = await browserNetwork(process.env)
// With logins a page shows what frames of other sites must not read. If a persona cannot be read, each page reports
// why.
const isIsolated = await credentialsFor({ env: process.env, visit: undefined }).then(hasLogins, () => true)
let hasRun = false
for (let failures = 0; !isOver; ) {
  const began = performance.now()
  try {
    clean()
    makeShortFolder(short, "the browser's socket")
    const profile = join(profiles, basename(short))
    running = await launchBrowser(browser, profile, short, process.env, network.args, isIsolated)
    writeWhole(folder, ENDPOINT, `${running.relay.endpoint}\n`)
  } catch (error) {
    failures++
    if (!hasRun && failures > 1) {
      clean()
      fail(error)
    }
    say(messageOf(error))
  }
  if (running) {
    const { ended, unsandboxed } = running
    const { pid } = running.process
    const unguard = guardBrowser(running, maxMemory, say)
    if (!hasRun) process.stdout.write(`${JSON.stringify({ browser: browser.program, pid, sandboxed: !unsandboxed })}\n`)
    if (!hasRun && unsandboxed) say(`The browser runs without its sandbox: ${unsandboxed}.`)
    hasRun = true
    await Promise.race([ended, over.promise])
    unguard()
    if (isOver) break
    say('The browser ended by itself and is started again.')
    running = undefined
  }
  const rest = hasRun ? SHORT_LIFE_MS - (performance.now() - began) : 0
  if (rest > 0) await Promise.race([new Promise((resolve) => setTimeout(resolve, rest)), over.promise])
}

if (running) {
  const last = running
  last.process.kill('SIGTERM')
  const late = setTimeout(() => endBrowser(last), END_MS)
  await last.ended
  clearTimeout(late)
}
clean()
// Last: a page that finds no address checks whether we are gone, and must not find us exiting.
rmSync(join(folder, ENDPOINT), { force: true })
// Not with success: if the crawl's worker has not asked for it, this is a service that is gone.
process.removeAllListeners('SIGTERM')
process.kill(process.pid, 'SIGTERM')
