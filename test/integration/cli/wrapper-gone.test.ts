import { spawn } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, NODE, PROGRAM } from '../../support/program.ts'

const homes = useHomes()

const leaders = (home: TestHome) =>
  home.query<{ pid: number }>("select pid from process where worker_type = 'worker_runner' and status = 'running'")

/** A runner below a wrapper, when it leads; killed with its wrapper in the end. */
async function below(home: TestHome, script: string, command = 'bash'): Promise<{ wrapper: number; pid: number }> {
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    DATA_DIR: home.dataDir,
    DATABASE_URL: home.databaseUrl,
    RUN: `${NODE} ${PROGRAM} run`,
  }
  const child = spawn(command, ['-c', script], { env, detached: true, stdio: 'ignore' })
  const [row] = await eventually(async () => {
    const rows = await leaders(home)
    return rows.length > 0 ? rows : undefined
  })
  return { wrapper: child.pid!, pid: row!.pid }
}

const isThere = (home: TestHome, pid: number) => processesOf(home.dataDir).some((one) => one.pid === pid)
/** Several of the looks that a watch makes. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 3_000))

describe('a command in the foreground whose wrapper is killed with -9', () => {
  it.each([
    ['a shell that waits', '$RUN & wait', 'bash'],
    ['a plain shell', '$RUN; true', 'sh'],
    ['one behind another, such as npm before its shell', `bash -c '$RUN; true'; true`, 'bash'],
  ])('drains and exits with 0: %s', async (_what, script, shell) => {
    const home = await homes.make()
    const { wrapper, pid } = await below(home, script, shell)
    process.kill(wrapper, 'SIGKILL')
    await eventually(() => !isThere(home, pid), 20_000)
    expect(await home.query("select exit_code from process where process_type = 'orchestrator'")).toEqual([
      { exit_code: 0 },
    ])
  })
})

describe('a command in the foreground whose whole group gets a signal', () => {
  it('has been told once: its hook may finish', async () => {
    const home = await homes.make()
    home.install('oracle')
    home.hold('oracle')
    await home.add('--plugins', 'oracle', '-c', 'TIMEOUT=1000', 'http://127.0.0.1:1/1')
    const { wrapper, pid } = await below(home, '$RUN; true')
    const hooks = () =>
      home.query("select pid from process where cmd::text like '%oracle%' and status = 'running' and pid is not null")
    await eventually(async () => (await hooks()).length > 0)
    process.kill(-wrapper, 'SIGTERM')
    await aWhile()
    expect(isThere(home, pid)).toBe(true)
    expect(await hooks()).toHaveLength(1)
    home.letGo('oracle')
    await eventually(() => !isThere(home, pid), 20_000)
    expect(await home.query("select exit_code from process where process_type = 'orchestrator'")).toEqual([
      { exit_code: 0 },
    ])
    expect(await home.value("select status::text from archive_result where plugin = 'oracle'")).toBe('succeeded')
  })
})

describe('a command that was put aside on purpose', () => {
  it('goes on when what started it is gone', async () => {
    const scripts = {
      nohup: 'nohup $RUN >/dev/null 2>&1 & wait',
      'a script below nohup': `nohup bash -c '$RUN; true' >/dev/null 2>&1 & wait`,
      'a shell that ignores SIGHUP': `trap '' HUP; $RUN & wait`,
      setsid: 'setsid $RUN & wait',
      'a shell with job control': 'set -m; $RUN & disown; wait',
      '--daemon': '$RUN --daemon & wait',
      'a double fork': '($RUN & ) ; exit',
    }
    await Promise.all(
      Object.entries(scripts).map(async ([name, script]) => {
        const home = await homes.make()
        const { wrapper, pid } = await below(home, script)
        try {
          process.kill(wrapper, 'SIGKILL')
        } catch {
          // It has exited.
        }
        if (name.includes('nohup') || name.includes('SIGHUP')) process.kill(pid, 'SIGHUP')
        await aWhile()
        expect(isThere(home, pid), name).toBe(true)
        process.kill(pid, 'SIGTERM')
        await eventually(() => !isThere(home, pid))
      }),
    )
  })
})
