import type { Archive } from '../../app/archive.ts'
import { AWAY, archiveFigures, prometheusText } from '../../app/metrics/figures.ts'
import { type Facts, gather, status as statusOf } from '../../app/status/facts.ts'
import { sleep } from '../../base/abort.ts'
import { AppError, EXIT, messageOf, UsageError } from '../../base/errors.ts'
import { onStopSignals } from '../../base/stop-signals.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { openHome, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { canvasOn } from '../screen/canvas.ts'
import { cutEnd } from '../screen/fit.ts'
import { isDumb, onStdout } from '../screen/palette.ts'
import { stopWithWrapper } from '../stop-with-wrapper.ts'
import { printRecord, printText, terminal, wantsJson } from '../terminal.ts'
import { readyFor, screen } from './status-screen.ts'

export interface StatusOptions {
  readonly watch?: boolean
  /** The figures, for Prometheus. */
  readonly prometheus?: boolean
}

const WATCH_MS = 1_000
/** With --watch there is room to scroll. */
const CRAWLS_WATCHED = 50

/**
 * `status`: one screen, or one object; with `--watch` repeatedly until `q`. Exit code 3 when no runner lives. It starts
 * none.
 * @returns the exit code
 */
export async function status(options: GlobalOptions, { watch, prometheus }: StatusOptions): Promise<number> {
  if (watch && prometheus) throw new UsageError('--watch and --prometheus exclude each other')
  if (prometheus) return await showFigures(options)
  const open = await openHome(options, 'never')
  try {
    if (watch) {
      stopWithWrapper()
      open.home.db.patience = undefined // It shows that the database is away.
    }
    if (!watch) return await show(options, open)
    return await (wantsJson(options) || isDumb() ? repeat(options, open) : watchIt(options, open))
  } finally {
    await open.close()
  }
}

/** The figures as text for Prometheus; while the database does not answer, that it does not. */
async function showFigures(options: GlobalOptions): Promise<number> {
  try {
    return await withHome(options, async (_home, open) => {
      const figures = await archiveFigures(open)
      printText(prometheusText(figures))
      return figures.archivebox_runner_leads === 1 ? EXIT.ok : EXIT.noRunner
    })
  } catch (error) {
    if (error instanceof AppError && error.exitCode === EXIT.failed) printText(prometheusText(AWAY))
    throw error
  }
}

async function show(options: GlobalOptions, open: Archive): Promise<number> {
  if (wantsJson(options)) {
    const all = await statusOf(open)
    printRecord(all)
    return exitCode(all)
  }
  const facts = await gather(open)
  await readyFor(facts)
  process.stdout.write(`${screen(facts, canvasOn(process.stdout, onStdout), options).join('\n')}\n`)
  return exitCode(facts)
}

const exitCode = ({ runner }: Facts) => (runner.state === 'none' ? EXIT.noRunner : EXIT.ok)

/** Prints one after the other, where nothing can be drawn. */
async function repeat(options: GlobalOptions, open: Archive): Promise<number> {
  let code: number = EXIT.ok
  const over = new AbortController()
  onStopSignals(() => over.abort())
  process.stdout.once('error', () => over.abort())
  while (!over.signal.aborted) {
    try {
      code = await show(options, open)
    } catch (error) {
      terminal.say(awayText(error))
    }
    await sleep(2 * WATCH_MS, over.signal)
  }
  return code
}

/** Draws on the whole terminal. */
async function watchIt(options: GlobalOptions, open: Archive): Promise<number> {
  const { FullScreen } = await import('../screen/full-screen.ts')
  let seen: Facts | undefined
  let trouble: string[] = []
  const view = new FullScreen((columns) => [
    ...trouble.map((text) => onStdout.yellow(cutEnd(text, columns))),
    ...(seen ? screen(seen, { ...canvasOn(process.stdout, onStdout), columns }, options) : []),
  ])
  try {
    while (!view.over.aborted) {
      try {
        seen = await gather(open, CRAWLS_WATCHED)
        await readyFor(seen)
        trouble = []
      } catch (error) {
        trouble = [awayText(error)]
      }
      view.show()
      await sleep(WATCH_MS, view.over)
    }
  } finally {
    view.leave()
  }
  return seen ? exitCode(seen) : EXIT.ok
}

/** Throws errors that are not about the database. */
function awayText(error: unknown): string {
  if (!isDatabaseAway(error)) throw error
  return `the database is unavailable: ${messageOf(error)}`
}
