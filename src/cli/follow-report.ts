import { join } from 'node:path'
import { oneLine } from '../base/clean.ts'
import { EXIT } from '../base/errors.ts'
import { crawlProgress, madeBy, onlyPageOf, skippedFor } from '../db/crawl-progress.ts'
import type { CrawlRow } from '../db/crawls.ts'
import { failureGroups, latestFailures } from '../db/failures.ts'
import type { Home } from '../db/home.ts'
import { crawlRecord } from '../db/records.ts'
import { isConsequence } from '../machines/cause.ts'
import { many, shortId } from './format.ts'
import type { GlobalOptions } from './options.ts'
import { failuresText, outcomesText } from './outcomes.ts'
import { canvasOn } from './screen/canvas.ts'
import { flow } from './screen/flow.ts'
import { onStderr } from './screen/palette.ts'
import { printRecord, printText, terminal, wantsJson } from './terminal.ts'

/** So many of the pages that failed alone are named by their URLs. */
const NAMED = 100

/** How a crawl that is sealed went, where it lies, what to do about it; and the exit code, 10 when some page failed. */
export async function report(home: Home, options: GlobalOptions, crawl: CrawlRow): Promise<number> {
  const [[progress], firstPage, plugins, skipped] = await Promise.all([
    crawlProgress(home.db, { crawlId: crawl.id }),
    onlyPageOf(home.db, crawl.id),
    madeBy(home.db, crawl.id),
    skippedFor(home.db, crawl.id),
  ])
  const { counts, total } = progress!
  const canvas = canvasOn(process.stderr, onStderr)
  const say = (line: string) => {
    if (!options.quiet) terminal.say(line)
  }
  const bad = counts.failed + counts.partial
  if (bad > 1) {
    const groups = await failureGroups(home.db, { crawlId: crawl.id })
    const latest = await latestFailures(home.db, { crawlId: crawl.id, limit: NAMED })
    const urls = new Map(latest.map(({ snapshot_id, url }) => [snapshot_id, url]))
    for (const line of failuresText(groups, urls, total, canvas.columns)) say(line)
  }
  if (total === 0) say(`${onStderr.yellow('no pages:')} the allow and deny lists leave none of these URLs`)
  const dir = join(home.dataDir, (total === 1 ? firstPage : undefined) ?? crawl.output_dir)
  if (total > 0) {
    say(`${many(total, 'page')}: ${outcomesText(counts)}`)
    for (const line of madeLines(plugins, canvas.columns)) say(line)
  }
  const lacks = skipped.filter((reason) => !isConsequence(reason))
  for (const reason of lacks) say(onStderr.dim(`skipped:   ${oneLine(reason)}`))
  if (total > 0) {
    say(`open:      ${onStderr.bold(join(dir, 'index.html'))}`)
    say(onStderr.dim(`all pages: ${join(home.dataDir, 'index.html')}`))
  }
  if (bad > 0) {
    const retry = `archivebox-ts crawl retry --failed ${shortId(crawl.id)}`
    say(`try again: ${onStderr.bold(retry)}, then ${onStderr.bold('archivebox-ts run')}`)
  }
  if (wantsJson(options))
    printRecord({
      ...crawlRecord({ ...crawl, counts }),
      snapshots: total,
      archived: counts.archived + counts.partial,
    })
  // On a terminal it has just been said.
  else if (options.quiet || !process.stderr.isTTY) printText(`${dir}\n`)
  return counts.failed > 0 || total === 0 ? EXIT.partial : EXIT.ok
}

const MADE = 'made:      '

/** Which kinds of copies there are. */
function madeLines(plugins: readonly string[], columns: number): string[] {
  const lines = flow(
    plugins.filter((plugin) => !plugin.startsWith('parse_')).map((text) => ({ text: oneLine(text) })),
    ', ',
    columns - MADE.length,
  )
  return lines.map((line, index) => onStderr.dim(`${index === 0 ? MADE : ' '.repeat(MADE.length)}${line}`))
}
