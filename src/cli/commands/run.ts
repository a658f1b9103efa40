import { scheduledBackups } from '../../app/backup/schedule.ts'
import { metricsEndpoint } from '../../app/metrics/endpoint.ts'
import { databaseWaitMs } from '../../app/open/door.ts'
import { queueRecords, wantedBy } from '../../app/records/queue-records.ts'
import { sleep, untilLate } from '../../base/abort.ts'
import { requireOpen } from '../../base/data-dir.ts'
import { atLeast, Log, type LogLine, toAll, toFile } from '../../base/log.ts'
import { onStopSignals } from '../../base/stop-signals.ts'
import { allPages } from '../../db/counts.ts'
import { ping } from '../../db/database.ts'
import type { Home } from '../../db/home.ts'
import { refuseClone } from '../../runner/clone.ts'
import { run } from '../../runner/run.ts'
import { Cues, startedByCommand } from '../cues.ts'
import { many } from '../format.ts'
import { openHome, refuseBelowRunner, runnerLog } from '../home.ts'
import { preparing } from '../interrupts.ts'
import { LiveView } from '../live-view.ts'
import { loopbackOf } from '../loopback.ts'
import { sayWhatIsWrong } from '../machine-report.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import type { GlobalOptions } from '../options.ts'
import { readInput } from '../records/input.ts'
import { sayQueued } from '../records/queued.ts'
import { graceMs, scopeOf, type WorkOptions, workOptions } from '../run-options.ts'
import { RunTally } from '../run-tally.ts'
import { runnerConnection } from '../runner-connection.ts'
import { onStderr } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { spawnBackup } from '../spawn-backup.ts'
import { heedNohup, stopWithWrapper } from '../stop-with-wrapper.ts'
import { logLevel, printJson, terminal, terminalSink } from '../terminal.ts'
import { toType } from '../to-type.ts'

export interface RunVerbOptions extends WorkOptions {
  readonly exitOnIdle?: boolean
  readonly daemon?: boolean
  readonly standby?: boolean
  readonly stay?: boolean
  readonly handoffGrace: string
  readonly metrics?: string
  readonly logFormat?: 'text' | 'json'
}

const METRICS = {
  example: '127.0.0.1:9464',
  why: 'others could reach it there, and nobody has to log in',
  hint: 'listen on 127.0.0.1, and have an exporter or a proxy of yours pass the metrics on',
}
const LEAVE_MS = 500
/** An unresponsive database delays neither the closing report nor the exit for longer than this. */
const TELL_MS = 2_000
const CLOSE_MS = { answers: 40_000, isSilent: 1_000 } as const
/** When a runner checks the machine: by then it leads, if it can. */
const LOOK_AFTER_MS = 300

/** What we tell the command that started us when a page ended, so that it looks. */
const PAGE_ENDED = 'page'

/**
 * `run`: be the runner.
 * @param id of its row
 * @param input `-`: queue the records on stdin, work on those, and exit
 */
export async function runVerb(options: Asked, id: string, verb: RunVerbOptions, input?: string): Promise<void> {
  terminal.json = options.json === true || (verb.logFormat ?? options.settings.config.LOG_FORMAT) === 'json'
  const work = workOptions(verb, input)
  const metricsAt = verb.metrics === undefined ? undefined : loopbackOf('--metrics', verb.metrics, METRICS)
  heedNohup()
  if (!verb.daemon && startedByCommand() === null) stopWithWrapper()
  const wanted = input === undefined ? undefined : wantedBy((await readInput([input], 'record')).lines)
  const cues = new Cues()
  if (!(await cues.next())) return
  const open = await openHome(options, 'if-empty', {
    connection: runnerConnection(id),
    waitMs: databaseWaitMs(options.settings, 'run'),
    ...(!verb.standby && { handoffGraceMs: graceMs(verb.handoffGrace) }),
  })
  const { home, settings } = open
  const toLogFile = atLeast(settings.config.LOG_LEVEL, toFile(runnerLog(home.dataDir)))
  const tally = new RunTally()
  const onNews = (line: LogLine) => {
    if (!line.page) return
    tally.take(line)
    view?.news()
    if (startedByCommand() !== null && process.connected) process.send?.(PAGE_ENDED, () => {})
  }
  terminal.ids = { runner_id: id, process_id: id }
  const log = new Log('runner', toAll(terminalSink(logLevel(options)), toLogFile, onNews), terminal.ids)
  let view: LiveView | undefined
  let isSilent = false
  try {
    if (!(await cues.next())) return
    await cues.end()
    await refuseBelowRunner(home)
    await preparing((signal) => refuseClone(home, signal))
    requireOpen(home.dataDir)
    const queued = wanted && (await queueRecords(open, wanted, { tell: sayMeanwhile }))
    for (const text of wanted?.others ?? []) printJson(text)
    if (queued) await sayQueued(options, open, queued)
    const crawlIds = queued?.crawls
    if (crawlIds?.length === 0) return terminal.say('nothing to run: no crawl, snapshot or result among these')
    const scope = { ...(await scopeOf(home, verb)), ...(crawlIds && { crawlIds }) }
    if (!verb.daemon && !options.quiet && terminal.isLive) {
      view = new LiveView(home, settings, scope.crawlIds?.length === 1 ? scope.crawlIds[0] : undefined)
      onStopSignals((signal) => view?.stops(signal))
    }
    const running = run({
      id,
      home,
      log,
      settings,
      parentId: startedByCommand(),
      exitOnIdle: verb.exitOnIdle === true || wanted !== undefined,
      standby: verb.standby === true,
      stays: verb.stay === true,
      daemon: verb.daemon === true,
      isWatched: view !== undefined,
      handoffGraceMs: graceMs(verb.handoffGrace),
      scope,
      crawlId: scope.crawlIds?.length === 1 ? scope.crawlIds[0] : undefined,
      beside: {
        backups: scheduledBackups(open, id, (backup) => spawnBackup(options, id, backup), log),
        ...(metricsAt && { metrics: metricsEndpoint(open, metricsAt, log) }),
      },
      ...work,
    })
    // A command that started us for one crawl learns this from its pages. Looking costs as much as a takeover: later.
    const over = new AbortController()
    void Promise.allSettled([running]).then(() => over.abort())
    const isToSay = startedByCommand() === null
    const said = isToSay && sleep(LOOK_AFTER_MS, over.signal).then(() => sayWhatIsWrong(options, log))
    const { why, reason } = await running
    if (why === 'idle' || why === 'maintained') await said
    view?.end()
    const end = {
      idle: 'nothing left to do',
      maintained: 'nothing is left over from earlier runners',
      drained: 'drained',
      superseded: 'handed over',
      forced: 'stopped',
    }[why]
    const parts = [reason === undefined ? end : `${end} (${reason})`, tally.text()]
    log.info(parts.filter(Boolean).join('; '), { event: 'runner.ended', why, cause: reason ?? null })
    // The newer runner waits for this process to end: what an orderly close would release belongs to it by now.
    if (why === 'superseded') process.exit()
    const told = async () => {
      if (verb.daemon || options.quiet) return await ping(home.db).catch(() => {})
      for (const line of await tally.lines(home, options, terminal.columns)) terminal.say(line)
      if (why === 'drained' || why === 'forced') await sayWhatWaits(home, options)
    }
    isSilent = !(await untilLate(told(), TELL_MS))
  } finally {
    view?.end()
    await untilLate(open.close(), isSilent ? CLOSE_MS.isSilent : CLOSE_MS.answers)
    // A listener that was reconnecting when it was closed may still keep the process alive: all is closed, so exit.
    setTimeout(() => process.exit(), LEAVE_MS).unref()
  }
}

async function sayWhatWaits({ db }: Home, options: GlobalOptions): Promise<void> {
  // The database may be the reason why we ended.
  const counts = await allPages(db).then(
    ({ counts }) => counts,
    () => undefined,
  )
  const waiting = counts ? counts.queued + counts.started : 0
  const run = onStderr.bold(toType(options, 'archivebox-ts run'))
  if (waiting > 0) terminal.say(`${many(waiting, 'page')} left: ${run} goes on`)
}
