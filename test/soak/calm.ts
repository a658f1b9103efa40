import type { TestHome } from '../support/homes.ts'
import { eventually, type Running } from '../support/program.ts'
import type { Finding } from '../support/verdict.ts'
import type { People } from './people.ts'
import { victimsIn } from './victims.ts'

/** How long the work may take to end when nothing disturbs it any more: the lease, the longest backoff, and the work itself. */
const CALM_MS = 240_000
const LEAVE_MS = 30_000
/** How long those who are there may take to go on: the window of a silent leader, a lock that is let go of, and an outage's last pause. */
const GO_ON_MS = 90_000
const TRIES = 10

/** After the faults: resumes what is paused, ends the work with one more runner, and asks all of them to leave. What of that went wrong. */
export async function calmDown(
  home: TestHome,
  people: People,
  runners: readonly Running[],
  say: (line: string) => void,
): Promise<Finding[]> {
  const start = () => insistOn(() => must(people, 'db', 'start'))
  await start()
  for (const model of ['crawl', 'snapshot']) {
    const { stdout } = await people.command(model, 'list', '--status', 'paused')
    if (stdout) await home.run([model, 'resume', '-'], { env: { DATABASE_URL: '' }, input: stdout })
  }
  say('no more faults')
  const stuck = await goesOn(home, runners, say)
  const last = await home
    .run(['run', '--exit-on-idle'], { env: { DATABASE_URL: '' }, deadlineMs: CALM_MS })
    .catch(String)
  const complaint = typeof last === 'string' ? last : last.code === 0 ? '' : `exit code ${last.code}\n${last.stderr}`
  // A runner that stood by leads now; others may still be on their way out.
  for (const runner of runners) if (!runner.isOver) runner.signal('SIGTERM')
  await eventually(() => runners.every((runner) => runner.isOver), LEAVE_MS).catch(() => {})
  const late = runners.filter((runner) => !runner.isOver).map(({ pid }) => `runner ${pid} is still there`)
  await start()
  await eventually(() => victimsIn(home.dataDir, 'guardian').length === 0, 10_000).catch(() => {})
  return [
    {
      name: 'whoever is there goes on by itself',
      how: `a leader that is heard of, and progress, within ${GO_ON_MS / 1000} s`,
      broken: stuck,
    },
    {
      name: 'I16 I20: an undisturbed runner gets everything done',
      how: `run --exit-on-idle, within ${CALM_MS / 1000} s`,
      broken: complaint ? [complaint] : [],
    },
    { name: 'I22: runners leave when they are asked', how: `SIGTERM to all, ${LEAVE_MS / 1000} s`, broken: late },
  ]
}

/** The runners that outlived the faults: one of them leads and gets on with the work, though nobody starts another one. */
async function goesOn(home: TestHome, runners: readonly Running[], say: (line: string) => void): Promise<string[]> {
  const alive = () => runners.filter((runner) => !runner.isOver)
  if (alive().length === 0) {
    say('no runner outlived the faults')
    return []
  }
  const [now] = await home.query<{ at: Date }>('select now() as at')
  const look = async () => {
    if (alive().length === 0) return true // They left in order: nothing was left to do, or their time was over.
    return await home.value<boolean>(
      `select exists (select from process where worker_type = 'worker_runner' and status in ('running', 'draining')
                        and heartbeat_at > now() - interval '15 s')
          and (exists (select from transition where at > $1 and process_id is not null)
            or not exists (select from crawl where status in ('queued', 'started')))`,
      [now!.at],
    )
  }
  try {
    await eventually(look, GO_ON_MS)
    return []
  } catch {
    const { stdout } = await home.run(['status', '--json'], { env: { DATABASE_URL: '' } })
    return [`${alive().map(({ pid }) => pid)} are there, and nothing moves: ${stdout}`]
  }
}

/** Does what may fail at first, and must work in the end. */
export async function insistOn(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return void (await work())
    } catch (error) {
      if (tries === TRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}

async function must(people: People, ...args: string[]): Promise<void> {
  const { code, stderr } = await people.command(...args)
  if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`)
}
