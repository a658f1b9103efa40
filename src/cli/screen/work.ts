import type { Work } from '../../app/status/work.ts'
import { discreet, oneLine } from '../../base/clean.ts'
import { duration, rate, shortId } from '../../base/words.ts'
import type { CrawlProgress } from '../../db/crawl-progress.ts'
import type { PageInWork } from '../../db/pages-in-work.ts'
import { bar } from './bar.ts'
import type { Canvas } from './canvas.ts'
import { cutMiddle, cutUrl, padEnd, padStart } from './fit.ts'
import { flow, type Part } from './flow.ts'
import type { Palette } from './palette.ts'

/** Fixed widths, so that the bar does not change with each figure beside it. */
const BARS = [30, 20, 10]
const NARROWEST_BAR = 8
const BETWEEN = '  '

/** A line for each crawl with its progress, then one for each page in work. */
export function workLines(work: Work, canvas: Canvas): string[] {
  const { columns, palette } = canvas
  const lines = work.crawls.flatMap((crawl) => [headingOf(crawl, canvas), ...progressLines(crawl, canvas)])
  if (work.otherCrawls > 0)
    lines.push(palette.dim(cutMiddle(`and ${work.otherCrawls} more in work or queued`, columns)))
  return [...lines, ...work.pages.map((page) => pageLine(page, canvas))]
}

/** The untrusted texts that will be drawn: for loadWidths. */
export function textsOf({ crawls, pages }: Work): string[] {
  return [...crawls.map(crawlName), ...pages.map(({ url }) => url)]
}

/** A crawl by its label, or by the host of its first URL. */
function crawlName({ label, first_url: url, total }: CrawlProgress): string {
  if (label.trim() !== '') return oneLine(label)
  const short = discreet(url).replace(/^https?:\/\//, '')
  return total > 1 ? short.replace(/[/?#].*$/s, '') : short
}

function headingOf(crawl: CrawlProgress, { columns, palette }: Canvas): string {
  const id = shortId(crawl.id)
  const room = columns - id.length - BETWEEN.length
  const name = crawlName(crawl)
  return room < NARROWEST_BAR
    ? palette.bold(cutMiddle(name, columns))
    : `${palette.bold(cutMiddle(name, room))}${BETWEEN}${palette.dim(id)}`
}

/** The bar and what it means, on one line or more. */
function progressLines(crawl: CrawlProgress, { columns, palette, ascii }: Canvas): string[] {
  const { counts, total, done } = crawl
  const facts = factsOf(crawl, palette)
  const wanted = facts.reduce((sum, { text }) => sum + BETWEEN.length + text.length, 0)
  // As long as possible with everything beside it on one line; failing that, with the first part.
  const room =
    BARS.find((width) => width + wanted <= columns) ??
    Math.min(BARS[0]!, columns - facts[0]!.text.length - BETWEEN.length)
  if (total === 0 || room < NARROWEST_BAR) return flow(facts, BETWEEN, columns)
  const parts = [
    { amount: counts.archived, style: palette.green },
    { amount: counts.partial, style: palette.yellow },
    { amount: counts.failed, style: palette.red },
    // Sealed before outcomes were recorded.
    { amount: done - counts.archived - counts.partial - counts.failed, style: palette.bold },
  ]
  const [first, ...others] = flow(facts, BETWEEN, columns, room + BETWEEN.length)
  return [`${bar(parts, total, room, ascii)}${BETWEEN}${first}`, ...others]
}

function factsOf({ counts, grows, ...crawl }: CrawlProgress, palette: Palette): Part[] {
  const { status, total, done, pages_per_second: pace, seconds_left: left } = crawl
  const percent = done === total ? 100 : Math.min(99, Math.floor((100 * done) / total))
  const facts: Part[] = total > 0 ? [{ text: `${done}/${total}${grows ? '' : ` ${percent}%`}` }] : []
  if (status === 'paused') facts.push({ text: 'paused', style: palette.yellow })
  if (status === 'queued') facts.push({ text: 'queued' })
  if (status === 'started' && total === 0) facts.push({ text: 'getting ready' })
  if (pace !== null && done < total) facts.push({ text: rate(pace) })
  if (left !== null) facts.push({ text: `about ${duration(Math.max(1, left))} left` })
  if (status === 'started' && grows && done < total) facts.push({ text: 'still finding pages' })
  if (counts.failed > 0) facts.push({ text: `${counts.failed} failed`, style: palette.red })
  if (counts.partial > 0) facts.push({ text: `${counts.partial} partial`, style: palette.yellow })
  if (counts.paused > 0 && status !== 'paused') facts.push({ text: `${counts.paused} paused`, style: palette.yellow })
  return facts
}

const PLUGIN_WIDTH = 12
const SECONDS_WIDTH = 6

/** What runs on a page, for how long, and which page. */
function pageLine({ hooks, url, seconds }: PageInWork, { columns, palette }: Canvas): string {
  const [hook] = hooks
  const plugin = Math.min(PLUGIN_WIDTH, Math.max(4, Math.floor(columns / 4)))
  const what = padEnd(cutMiddle(oneLine(hook?.plugin ?? 'begins'), plugin), plugin)
  const time = padStart(duration(hook?.seconds ?? seconds), SECONDS_WIDTH)
  const room = columns - plugin - SECONDS_WIDTH - 4
  return `${BETWEEN}${what} ${palette.dim(time)} ${cutUrl(discreet(url), room)}`.trimEnd()
}
