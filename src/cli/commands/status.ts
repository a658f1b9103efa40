import { sleep } from '../../base/abort.ts'
import { EXIT, messageOf } from '../../base/errors.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { type OpenHome, openHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { gather } from './status-facts.ts'
import { screen } from './status-screen.ts'

export interface StatusOptions {
  readonly watch?: boolean
}

const WATCH_MS = 2_000
/** To the top left corner, and nothing below. */
const CLEAR = '\u001b[H\u001b[2J'

/** `status`: one screen, or one object; with `--watch` again and again until Ctrl-C. Exit code 3 when no runner lives. It starts none. */
export async function status(options: GlobalOptions, { watch }: StatusOptions): Promise<void> {
  const open = await openHome(options, 'never', (line) => terminal.say(line))
  try {
    if (watch) await watchIt(options, open)
    else await show(options, open)
  } finally {
    await open.close()
  }
}

async function show(options: GlobalOptions, open: OpenHome, before = ''): Promise<void> {
  const facts = await gather(open)
  if (wantsJson(options)) printRecord(facts)
  else process.stdout.write(before + screen(facts))
  process.exitCode = facts.runner.state === 'none' ? EXIT.noRunner : EXIT.ok
}

async function watchIt(options: GlobalOptions, open: OpenHome): Promise<void> {
  const over = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => over.abort())
  process.stdout.once('error', () => over.abort())
  while (!over.signal.aborted) {
    await show(options, open, CLEAR).catch((error: unknown) => {
      if (!isDatabaseAway(error)) throw error
      terminal.say(`the database is away: ${messageOf(error)}`)
    })
    await sleep(WATCH_MS, over.signal)
  }
}
