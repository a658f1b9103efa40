import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { makeShortFolder, processFolderOf } from '../../../src/base/short-folder.ts'
import { FRUGAL_ENV } from '../../../src/base/start/frugal.ts'
import { launchBrowser } from '../../../src/browse/browser/launch.ts'
import { ENDPOINT } from '../../../src/plugins/base/with-tab.ts'
import { noBrowser, systemBrowser } from '../../support/browser.ts'
import { newFolder } from '../../support/folders.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, NODE } from '../../support/program.ts'

const folder = newFolder()
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 10 }))

/** A folder with a name of its own, in which a script stands for the browser. */
function scripted(name: string, script: string) {
  const program = join(folder, name)
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const short = join(folder, `${name}.d`)
  mkdirSync(short)
  return { browser: { program, env: {} }, short }
}
const OPEN = { CHROME_SANDBOX: 'false' }

it('a browser to which nobody can speak does not stay', async () => {
  const { browser, short } = scripted('silent', 'exec sleep 60')
  const long = join(short, 'x'.repeat(100))
  mkdirSync(long)
  await expect(launchBrowser(browser, folder, long, OPEN)).rejects.toThrow('listen')
  await eventually(() => processesOf(folder).length === 0)
})

it('says why a browser did not start, and not what its orphans say', async () => {
  const words = ['[1:1:FATAL:a.cc:1] the profile is in use', '[1:ERROR:b.cc:2] open /sys/x: No such file'].join('\\n')
  const { browser, short } = scripted('dying', `printf '${words}\\n' >&2; exit 1`)
  await expect(launchBrowser(browser, folder, short, OPEN)).rejects.toThrow('not start: the profile is in use (')
})

it('a browser has none of what keeps the memory of our own processes small', async () => {
  const { browser, short } = scripted('malloc', 'echo "ERROR: it has $(env | grep -c ^MALLOC_)" >&2; exit 1')
  const started = launchBrowser(browser, folder, short, { ...OPEN, ...FRUGAL_ENV })
  await expect(started).rejects.toThrow('it has 0')
})

it('the launcher removes what a killed one left in /tmp, and not what serves the original of a copied data dir', async () => {
  const launcher = 'src/plugins/chrome/on_CrawlSetup__90_chrome_launch.daemon.bg.ts'
  const former = [uuidv7(), uuidv7()].map((id) => makeShortFolder(processFolderOf(id), 'nothing'))
  const sockets = former.map((each) => join(each, 'browser.sock'))
  writeFileSync(sockets[0]!, '')
  const server = createServer().listen(sockets[1])
  await once(server, 'listening')
  try {
    for (const [index, socket] of sockets.entries()) {
      const cwd = join(folder, `copy-${index}`)
      mkdirSync(cwd)
      writeFileSync(join(cwd, ENDPOINT), `ws+unix:${socket}:/\n`)
      const child = spawn(NODE, [resolve(launcher)], { cwd, env: { CHROME_BINARY: '/nowhere' }, stdio: 'ignore' })
      expect(await once(child, 'exit')).toEqual([1, null])
    }
    expect(former.map((each) => existsSync(each))).toEqual([false, true])
  } finally {
    server.close()
    for (const each of former) rmSync(each, { recursive: true, force: true })
  }
})

it.skipIf(noBrowser)(`a whole Chromium starts from a folder with a long path ${noBrowser}`, async () => {
  const long = join(folder, 'x'.repeat(120))
  const short = join(folder, 's')
  mkdirSync(short)
  const { process: child, ended } = await launchBrowser({ program: systemBrowser, env: {} }, long, short, process.env)
  child.kill('SIGKILL')
  await ended
  await eventually(() => processesOf(folder).length === 0)
})
