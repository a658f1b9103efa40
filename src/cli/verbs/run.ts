import { type Command, Option } from 'commander'
import { described } from '../../base/config.ts'
import { uuidv7 } from '../../base/ids.ts'
import type { RunVerbOptions } from '../commands/run.ts'
import type { Asking } from '../settings.ts'
import { collect, verb } from '../verb.ts'

/** Seconds that an older runner has to hand over, unless somebody says otherwise. */
export const HANDOFF_GRACE = '10'

/** `run`. */
export function registerRun(root: Command, asked: Asking): void {
  verb(root, 'run', 'be the runner: work on what is queued, until Ctrl-C', [
    'archivebox-ts run',
    'archivebox-ts run --exit-on-idle',
    'archivebox-ts run --crawl-id 9c41d2e7 --exit-on-idle',
    'archivebox-ts result list --status failed | archivebox-ts run -',
  ])
    .argument(
      '[-]',
      'read records, URLs or snapshot ids from stdin, one per line; queue them, work on them alone, then exit',
    )
    .option('--exit-on-idle', 'exit when nothing is due, running or scheduled shortly')
    .option('--crawl-id <id>', 'work on this crawl only')
    .option('--standby', 'do not take over: wait until no other runner is left, then lead')
    .option('--stay', 'when a newer runner takes over, stand by instead of exiting; lead again when it is gone')
    .option('--handoff-grace <seconds>', 'how long an older runner may take to exit before it is killed', HANDOFF_GRACE)
    .option('--snapshot-id <id>', 'work on this snapshot only')
    .option('--run-for <seconds>', 'exit after this long: running hooks finish, everything else stays queued')
    .option('--concurrency <n>', 'archive this many pages at once, over all crawls')
    .addOption(
      new Option('--exclude <kind>', 'do not work on rows of this kind: crawl, snapshot, binary (repeatable)')
        .argParser(collect)
        .default([], 'none'),
    )
    .option('--liveness-file <file>', 'touch this file while all is well; remove it on exit')
    .addOption(new Option('--log-format <format>', described('LOG_FORMAT')).choices(['text', 'json']))
    .option(
      '--metrics <host:port>',
      'metrics for Prometheus at /metrics, while this runner leads; of this machine only',
    )
    .option('--maintenance-only', 'end and requeue what earlier runners left behind, then exit')
    .option('--daemon', 'log lines only, never a live view')
    .action(async (input: string | undefined, options: RunVerbOptions) => {
      const given = await asked(true)
      given.problems.refuse()
      const { runVerb } = await import('../commands/run.ts')
      await runVerb(given, uuidv7(), options, input)
    })
}
