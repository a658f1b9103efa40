import type { Archive } from '../../app/archive.ts'
import type { Queued } from '../../app/records/queue-records.ts'
import type { GlobalOptions } from '../options.ts'
import { onStderr } from '../screen/palette.ts'
import { terminal } from '../terminal.ts'
import { sayUnqueued } from '../unqueued.ts'
import { printChanged } from './chosen.ts'
import { CRAWL, RESULT, SNAPSHOT } from './kinds.ts'

/** Reports which records of stdin were queued; prints them as records unless stdout is a terminal. */
export async function sayQueued(
  options: GlobalOptions,
  open: Archive,
  { crawls, snapshots, results, missing, ...retried }: Queued,
): Promise<void> {
  if (missing > 0) terminal.say(`${onStderr.yellow('left out:')} ${missing} of these do not exist`)
  sayUnqueued(retried)
  await printChanged(options, open, CRAWL, crawls)
  await printChanged(options, open, SNAPSHOT, snapshots)
  await printChanged(options, open, RESULT, results)
}
