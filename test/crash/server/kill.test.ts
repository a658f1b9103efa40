// Server, runner and database are killed in every order, while a page is open: whoever starts the server again finds
// all of it, and the page goes on as it was.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Browser, noBrowser } from '../../support/browser.ts'
import { newFolder } from '../../support/homes.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { eventually, program, type Running, start } from '../../support/program.ts'

const ORDERS = [
  ['server', 'runner', 'database'],
  ['server', 'database', 'runner'],
  ['runner', 'server', 'database'],
  ['runner', 'database', 'server'],
  ['database', 'server', 'runner'],
  ['database', 'runner', 'server'],
] as const
/** The next one is hit while others notice the one before. */
const BETWEEN_MS = 400
/** Whether a page is as it should be. */
const IS_WELL = `document.querySelector('#note').hidden
  && document.querySelector('[data-fact="runner.state"]').dataset.value === 'running'
  && document.querySelector('#leads [data-head="Until"]').textContent === 'leads'`

it.skipIf(noBrowser)(`in every order, with a page open (${noBrowser || 'chromium'})`, async () => {
  const dataDir = newFolder()
  const call = { env: { DATA_DIR: dataDir } }
  const cli = async (...args: string[]) => {
    const { stdout, stderr, code } = await program(args, call)
    return { stdout, stderr, code }
  }
  const port = String(24_000 + (process.pid % 8_000))
  const linkOf = ({ stderr }: Running) => /http:\/\/\S+\/login#\w+/.exec(stderr)?.[0]
  const serve = async () => {
    const running = start(['server', '--listen', `127.0.0.1:${port}`], call)
    await eventually(() => linkOf(running) !== undefined || running.isOver)
    expect(running.isOver, running.stderr).toBe(false)
    return running
  }
  const runner = async () => {
    const { stdout } = await cli('status', '--json')
    const { pid } = (JSON.parse(stdout || '{}') as { runner?: { pid: number | null } }).runner ?? { pid: null }
    return pid ?? undefined
  }
  const database = () => Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
  const browser = await Browser.start()
  try {
    expect((await cli('init')).code).toBe(0)
    let server = await serve()
    await browser.visit(linkOf(server)!)
    await browser.until("document.querySelector('nav.sections')")
    await browser.send('Page.navigate', { url: `${new URL(linkOf(server)!).origin}/live` })
    await browser.until(`document.querySelector('#verdict') && ${IS_WELL}`)
    await browser.evaluate('window.stays = true')
    for (const [at, order] of ORDERS.entries()) {
      await eventually(async () => (await runner()) !== undefined)
      const pids = { server: server.pid, runner: (await runner())!, database: database() }
      for (const what of order) {
        // A runner ends by itself when its server is gone.
        try {
          process.kill(pids[what], 'SIGKILL')
        } catch {}
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS))
      }
      await browser.until("!document.querySelector('#note').hidden")
      server = await serve()
      expect((await cli('snapshot', 'create', `http://127.0.0.1:9/${at}`)).code).toBe(0)
      await browser.until(`${IS_WELL} && document.querySelector('#tree').textContent.includes('pid ${server.pid}')`)
      expect(await browser.evaluate('window.stays')).toBe(true)
    }
    // The database alone, which the server starts again.
    const killed = database()
    process.kill(killed, 'SIGKILL')
    await browser.until("document.querySelector('#note').textContent.startsWith('The database is unavailable')")
    await browser.until(IS_WELL)
    expect(database()).not.toBe(killed)
    expect((await cli('snapshot', 'list', '--json')).stdout.trim().split('\n')).toHaveLength(ORDERS.length)
    server.signal('SIGTERM')
    expect((await server.finished()).code).toBe(0)
  } finally {
    await browser.close()
    await cli('db', 'stop', '--force')
    const left = processesOf(dataDir)
    killAll(left)
    rmSync(dataDir, { recursive: true, force: true })
    expect(left.map(({ command }) => command)).toEqual([])
  }
})
