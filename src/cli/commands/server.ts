import { join } from 'node:path'
import { untilLate } from '../../base/abort.ts'
import { requireOpen } from '../../base/data-dir.ts'
import { AppError, EXIT } from '../../base/errors.ts'
import { Log, toAll, toFile } from '../../base/log.ts'
import { onStopSignals } from '../../base/stop-signals.ts'
import { applicationName, STATEMENT_MS } from '../../db/database.ts'
import { presentRows } from '../../processes/presence.ts'
import { Sessions } from '../../server/access/sessions.ts'
import { refuseUrls } from '../../server/names.ts'
import { serve } from '../../server/serve.ts'
import { Stack } from '../../server/stack.ts'
import { tellRun } from '../cues.ts'
import { asProcess, openHome, refuseBelowRunner, withHome } from '../home.ts'
import { loopbackOf } from '../loopback.ts'
import type { Asked } from '../settings.ts'
import { spawnRun } from '../spawn-run.ts'
import { heedNohup, stopWithWrapper } from '../stop-with-wrapper.ts'
import { logLevel, printRecord, terminal, terminalSink } from '../terminal.ts'
import { HANDOFF_GRACE } from '../verbs/run.ts'
import type { ServerVerbOptions } from '../verbs/server.ts'

const LISTEN = {
  example: '127.0.0.1:8000',
  why: 'others could reach it there, and the server has no user accounts yet',
  hint: 'listen on 127.0.0.1, and reach it through a tunnel: ssh -N -L 8000:127.0.0.1:8000 HOST',
}
const CONNECTIONS = 4
const LEAVE_MS = 500
/** An unresponsive database delays the exit for no longer than this. */
const CLOSE_MS = 5_000
/** A terminal and the program that started us may both pass on one key press. */
const SAME_PRESS_MS = 150

/**
 * `server`: serves the archive to a browser, until a signal.
 * @param id of its row
 * @param settingsNow reads the settings again
 */
export async function serverVerb(
  options: Asked,
  id: string,
  verb: ServerVerbOptions,
  settingsNow: () => Promise<Asked>,
): Promise<void> {
  terminal.json = options.json === true || options.settings.config.LOG_FORMAT === 'json'
  const listen = loopbackOf('--listen', verb.listen, LISTEN)
  refuseUrls(options.settings.config)
  heedNohup()
  stopWithWrapper()
  const open = await openHome(options, 'if-empty', {
    connection: { name: applicationName('server'), connections: CONNECTIONS, statementMs: STATEMENT_MS },
    ...(verb.runner && { handoffGraceMs: Number(HANDOFF_GRACE) * 1_000 }),
  })
  const { home } = open
  const toLogFile = toFile(join(home.dataDir, 'logs', 'server.log'))
  const log = new Log('server', toAll(terminalSink(logLevel(options)), toLogFile), { process_id: id })
  const stop = new AbortController()
  try {
    if (verb.runner) {
      await refuseBelowRunner(home)
      requireOpen(home.dataDir)
    }
    const startRunner = (standby: boolean) => {
      const level = options.verbose ? ['-v'] : options.quiet ? ['-q'] : []
      const child = spawnRun(options, id, ['--daemon', ...(standby ? ['--standby'] : []), ...level], 'inherit')
      for (const cue of ['open', 'work'] as const) tellRun(child, cue)
      return child
    }
    const stack = verb.runner ? new Stack(home, startRunner, log) : undefined
    heed(stop, stack)
    const ready = (link: string) => {
      const text = `the archive is at ${link} (it signs in one browser, once, within 5 minutes)`
      // Not into the log file: its readers must not be able to sign in.
      if (terminal.json) new Log('server', terminalSink(logLevel(options)), { process_id: id }).info(text)
      else terminal.say(text)
    }
    const work = async () =>
      await serve({ id, archive: open, settingsNow, log, listen, stack, stop: stop.signal, ready })
    const newer = await asProcess(home, 'server', async () => ({ pid: await work() }), id)
    if (newer.pid !== undefined) terminal.say(`a newer server (pid ${newer.pid}) has taken over`)
  } finally {
    await untilLate(open.close(), CLOSE_MS)
    // An abandoned connection attempt may still be running: everything is closed, so exit.
    setTimeout(() => process.exit(), LEAVE_MS).unref()
  }
}

/**
 * The first signal ends everything in order, the second kills hooks, the third exits. To the very end: a newer server
 * may ask one to exit that is just doing so.
 */
function heed(stop: AbortController, stack: Stack | undefined): void {
  let count = 0
  let last = Number.NEGATIVE_INFINITY
  onStopSignals((signal) => {
    const now = performance.now()
    if (now - last < SAME_PRESS_MS) return
    last = now
    count += 1
    if (count > 2 || (count > 1 && !stack)) process.exit(EXIT.interrupted)
    stop.abort()
    stack?.signal(signal)
  })
}

/** `server link`: a new one-time link to the newest server of this data dir. Throws AppError when there is none. */
export async function serverLink(options: Asked): Promise<void> {
  await withHome(options, async (home) => {
    const server = (await presentRows(home)).findLast((row) => row.process_type === 'server' && row.url !== null)
    if (!server)
      throw new AppError('no server runs on this data dir', {
        hint: 'archivebox-ts server starts one, and prints a link',
      })
    const link = `${server.url}/login#${await new Sessions(home).newCode()}`
    if (options.json) printRecord({ link })
    else console.log(link)
  })
}
