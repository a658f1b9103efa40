import { join } from 'node:path'
import { EXIT } from '../base/errors.ts'
import { crawlProgress, onlyPageOf, skippedFor } from '../db/crawl-progress.ts'
import type { CrawlRow } from '../db/crawls.ts'
import { failureGroups } from '../db/failures.ts'
import type { Home } from '../db/home.ts'
import { crawlRecord } from '../db/records.ts'
import { failureLines } from './failure-lines.ts'
import { many } from './format.ts'
import type { GlobalOptions } from './options.ts'
import { onStderr } from './screen/palette.ts'
import { printRecord, terminal, wantsJson } from './terminal.ts'

/** Kinds of failures that are named. */
const KINDS = 10

/** How a crawl that is sealed went, where it lies, what to do about it; and the exit code, 10 when some page failed. */
export async function report(home: Home, options: GlobalOptions, crawl: CrawlRow): Promise<void> {
  const [progress] = await crawlProgress(home.db, { crawlId: crawl.id })
  const { counts, total } = progress!
  const say = (line: string) => {
    if (!options.quiet) terminal.say(line)
  }
  const bad = counts.failed + counts.partial
  if (bad > 1) {
    // A page that failed alone was named when it ended.
    const groups = (await failureGroups(home.db, { crawlId: crawl.id })).filter(({ pages }) => pages > 1)
    const lines = failureLines(groups, () => undefined)
    for (const { text, isPartial } of lines.slice(0, KINDS)) say(`${onStderr[isPartial ? 'yellow' : 'red'](text)}`)
    if (lines.length > KINDS) say(`and ${many(lines.length - KINDS, 'kind')} of failures more`)
  }
  for (const reason of await skippedFor(home.db, crawl.id)) say(onStderr.dim(`skipped: ${reason}`))
  if (total === 0) say(`${onStderr.yellow('no pages:')} the allow and deny lists leave none of these URLs`)
  const only = total === 1 ? await onlyPageOf(home.db, crawl.id) : undefined
  const dir = join(home.dataDir, only ?? crawl.output_dir)
  if (total > 0) {
    const parts = [
      counts.archived > 0 ? onStderr.green(`${counts.archived} archived`) : '',
      counts.partial > 0 ? onStderr.yellow(`${counts.partial} partial`) : '',
      counts.failed > 0 ? onStderr.red(`${counts.failed} failed`) : '',
    ]
    say(`${many(total, 'page')}: ${parts.filter(Boolean).join(', ')}: ${onStderr.bold(join(dir, 'index.html'))}`)
  }
  if (bad > 0) say(`try again: ${onStderr.bold(`archivebox-ts crawl retry --failed ${crawl.id}`)}`)
  if (wantsJson(options))
    printRecord({
      ...crawlRecord({ ...crawl, counts }),
      snapshots: total,
      archived: counts.archived + counts.partial,
    })
  else process.stdout.write(`${dir}\n`)
  if (counts.failed > 0 || total === 0) process.exitCode = EXIT.partial
}
