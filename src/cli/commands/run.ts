import { UsageError } from '../../base/errors.ts'
import { uuidv7 } from '../../base/ids.ts'
import { atLeast, Log, levelFrom, toAll, toFile } from '../../base/log.ts'
import { crawlById } from '../../db/crawls.ts'
import { applicationName } from '../../db/database.ts'
import { run } from '../../runner/run.ts'
import { openHome, runnerLog } from '../home.ts'
import { uuid } from '../ids.ts'
import type { GlobalOptions } from '../options.ts'
import { liveCounts } from '../progress.ts'
import { logLevel, terminal, terminalSink } from '../terminal.ts'

export interface RunVerbOptions {
  readonly exitOnIdle?: boolean
  readonly crawlId?: string
  readonly daemon?: boolean
  readonly standby?: boolean
  readonly handoffGrace: string
}

const LEAVE_MS = 500

/** The parent's row, when a command of ours started this runner. */
export const PARENT_ENV = 'ARCHIVEBOX_STARTED_BY'

/** `run`: be the runner. */
export async function runVerb(options: GlobalOptions, verb: RunVerbOptions): Promise<void> {
  const id = uuidv7()
  const open = await openHome(options, 'if-empty', (line) => terminal.say(line), applicationName('runner', id))
  const { home, settings } = open
  if (options.verbose) process.env['LOG_LEVEL'] = 'debug' // For the workers, too.
  const toLogFile = atLeast(levelFrom(process.env), toFile(runnerLog(home.dataDir)))
  const log = new Log('runner', toAll(terminalSink(logLevel(options)), toLogFile))
  const view = verb.daemon || options.quiet || !terminal.isTTY ? undefined : liveCounts(home, verb.crawlId)
  try {
    if (verb.crawlId !== undefined && !(await crawlById(home.db, uuid(verb.crawlId)))) {
      throw new UsageError(`there is no crawl ${verb.crawlId}`, 'archivebox-ts status shows what is queued')
    }
    const why = await run({
      id,
      home,
      log,
      settings,
      parentId: process.env[PARENT_ENV] ?? null,
      exitOnIdle: verb.exitOnIdle === true,
      crawlId: verb.crawlId,
      standby: verb.standby === true,
      daemon: verb.daemon === true,
      handoffGraceMs: 1_000 * graceOf(verb.handoffGrace),
    })
    log.info({ idle: 'nothing left to do', drained: 'drained', superseded: 'handed over', forced: 'stopped' }[why])
  } finally {
    view?.end()
    await open.close()
    // A listener that was reconnecting while it was closed may still hold the process: everything is closed, so leave.
    setTimeout(() => process.exit(), LEAVE_MS).unref()
  }
}

function graceOf(text: string): number {
  const seconds = Number(text)
  if (!(seconds >= 1 && seconds <= 3_600)) throw new UsageError(`--handoff-grace takes seconds from 1 to 3600, not "${text}"`)
  return seconds
}
