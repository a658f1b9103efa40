import { AppError, EXIT } from '../../base/errors.ts'
import { showSourceLines } from '../../base/start/source-lines.ts'
import { withoutUrlSecrets } from '../../base/url-secrets.ts'
import type { HookModule } from '../../hooks/contract.ts'
import { recordStamp, resultRecord } from '../../hooks/result-record.ts'

const FLUSH_CHARS = 65_536

/**
 * Runs a hook as the program that this process is: `--url=...` on the command line, the working directory as the output
 * directory, everything else in the environment. Writes records to stdout as JSONL, messages to stderr. Exits with 0
 * (succeeded, noresults, skipped), 1 (failed), 2 (no URL); after SIGTERM or SIGINT it reports and then dies of that
 * signal.
 */
export async function runAsProgram(plugin: string, hook: HookModule): Promise<never> {
  showSourceLines()
  const url = urlArgument(process.argv.slice(2))
  if (url === undefined) {
    process.stderr.write(
      `usage: ${process.argv[1] ?? plugin} --url=URL\nWrites the ${plugin} output of that page into the ` +
        'current directory.\n',
    )
    process.exit(process.argv.includes('--help') ? EXIT.ok : EXIT.usage)
  }
  // A reader that closes early (`| head -1`) must not cause a stack trace.
  process.stdout.on('error', () => process.exit(EXIT.failed))

  const controller = new AbortController()
  let stoppedBy: NodeJS.Signals | undefined
  const stop = (signal: NodeJS.Signals) => {
    stoppedBy ??= signal
    controller.abort(new AppError(`stopped by ${signal}`))
  }
  process.once('SIGTERM', stop).once('SIGINT', stop)

  // A hook gets its settings and its page in its environment, and nowhere else: that is the contract for plugins.
  const stamp = recordStamp(process.env)
  let pending = ''
  const flush = (done: () => void) => {
    process.stdout.write(pending, done)
    pending = ''
  }
  const result = await hook.run({
    url,
    outputDir: process.cwd(),
    env: process.env,
    signal: controller.signal,
    emit: (record) => {
      pending += `${JSON.stringify(stamp(record))}\n`
      if (pending.length > FLUSH_CHARS) flush(() => {})
    },
    log: (line) => process.stderr.write(`${withoutUrlSecrets(line)}\n`),
  })
  pending += `${JSON.stringify(resultRecord(result, process.env))}\n`
  // The reader may be slow: when the last write is done, all are.
  await new Promise<void>(flush)
  await new Promise<void>((resolve) => {
    process.stderr.write(`${plugin}: ${result.status}: ${withoutUrlSecrets(result.output)}\n`, () => resolve())
  })
  if (stoppedBy !== undefined && result.status === 'failed') {
    process.removeAllListeners(stoppedBy)
    process.kill(process.pid, stoppedBy)
  }
  // Exits explicitly: a pending name lookup would keep the process alive for half a minute.
  process.exit(result.status === 'failed' ? EXIT.failed : EXIT.ok)
}

function urlArgument(args: readonly string[]): string | undefined {
  const at = args.findIndex((arg) => arg === '--url' || arg.startsWith('--url='))
  const url = args[at]?.includes('=') ? args[at].slice('--url='.length) : args[at + 1]
  return at < 0 ? undefined : url?.trim() || undefined
}
