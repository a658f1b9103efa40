import { join } from 'node:path'
import type { Archive } from '../app/archive.ts'
import { crawlEnd } from '../app/follow/crawl-end.ts'
import { oneLine } from '../base/clean.ts'
import { EXIT } from '../base/errors.ts'
import { shortId } from '../base/words.ts'
import type { CrawlRow } from '../db/crawls.ts'
import { many } from './format.ts'
import type { GlobalOptions } from './options.ts'
import { failuresText, outcomesText } from './outcomes.ts'
import { canvasOn } from './screen/canvas.ts'
import { flow } from './screen/flow.ts'
import { onStderr } from './screen/palette.ts'
import { printRecord, printText, terminal, wantsJson } from './terminal.ts'
import { toType } from './to-type.ts'

/** Reports how a sealed crawl went, where it is, and what to do next. @returns the exit code: 10 when a page failed */
export async function report(open: Archive, options: GlobalOptions, crawl: CrawlRow): Promise<number> {
  const { counts, total, node, folder, plugins, lacks, failures, record } = await crawlEnd(open, crawl)
  const { dataDir } = open.home
  const canvas = canvasOn(process.stderr, onStderr)
  const say = (line: string) => {
    if (!options.quiet) terminal.say(line)
  }
  for (const line of failuresText(failures.groups, failures.urls, total, canvas.columns)) say(line)
  if (total === 0) say(`${onStderr.yellow('no pages:')} the allow and deny lists exclude all of these URLs`)
  const dir = join(dataDir, folder)
  if (total > 0) {
    say(`${many(total, 'page')}: ${outcomesText(counts)}`)
    for (const line of madeLines(plugins, canvas.columns)) say(line)
  }
  for (const reason of lacks) say(onStderr.dim(`skipped:   ${oneLine(reason)}`))
  if (total > 0) {
    say(node === '' ? `open:      ${onStderr.bold(join(dir, 'index.html'))}` : `files:     on node ${node}`)
    say(onStderr.dim(`all pages: ${join(dataDir, 'index.html')}`))
  }
  if (counts.failed + counts.partial > 0) {
    const retry = toType(options, `archivebox-ts crawl retry --failed ${shortId(crawl.id)}`)
    say(`try again: ${onStderr.bold(retry)}, then ${onStderr.bold(toType(options, 'archivebox-ts run'))}`)
  }
  if (wantsJson(options)) printRecord(record)
  // On a terminal it has just been printed.
  else if (node === '' && (options.quiet || !process.stderr.isTTY)) printText(`${dir}\n`)
  return counts.failed > 0 || total === 0 ? EXIT.partial : EXIT.ok
}

const MADE = 'made:      '

/** The kinds of copies that were made. */
function madeLines(plugins: readonly string[], columns: number): string[] {
  const lines = flow(
    plugins.filter((plugin) => !plugin.startsWith('parse_')).map((text) => ({ text: oneLine(text) })),
    ', ',
    columns - MADE.length,
  )
  return lines.map((line, index) => onStderr.dim(`${index === 0 ? MADE : ' '.repeat(MADE.length)}${line}`))
}
