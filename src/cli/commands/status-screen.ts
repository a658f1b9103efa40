import type { Facts } from '../../app/status/facts.ts'
import type { Work } from '../../app/status/work.ts'
import { oneLine } from '../../base/clean.ts'
import { duration, sizeText } from '../../base/words.ts'
import { inZone } from '../../base/zone-time.ts'
import { failureLines, failureText } from '../failure-lines.ts'
import { many } from '../format.ts'
import { nodeColour, nodeState } from '../node-state.ts'
import type { Canvas } from '../screen/canvas.ts'
import { cutMiddle } from '../screen/fit.ts'
import { flow, type Part, wrapped } from '../screen/flow.ts'
import { loadWidths } from '../screen/width.ts'
import { textsOf, workLines } from '../screen/work.ts'
import { toType } from '../to-type.ts'

/** The options that commands to type have as well. */
type Given = Parameters<typeof toType>[0]

const KEY_WIDTH = 11
/** A narrower terminal has no room for a column of keys. */
const NARROW = 48

/** Prepares to draw these: `screen` does not wait. */
export async function readyFor(facts: Facts): Promise<void> {
  await loadWidths([
    ...textsOf(workIn(facts)),
    ...failuresOf(facts).flatMap(({ pages, cause }) => [pages, cause]),
    facts.data_dir,
  ])
}

/** The status as one screen, for users: no line is wider than the canvas. What is to be typed is as `given`. */
export function screen(facts: Facts, canvas: Canvas, given: Given): string[] {
  const blocks = [
    [
      ...summary(facts, canvas),
      ...whyNothingMoves(facts, canvas, given),
      ...whatIsStuck(facts, canvas),
      ...nodeBlock(facts, canvas),
      ...whyNoBackup(facts, canvas),
    ],
    workLines(workIn(facts), canvas),
    failureBlock(failuresOf(facts), canvas, given),
  ]
  return blocks.filter((lines) => lines.length > 0).flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
}

function workIn({ crawls, other_crawls: otherCrawls, in_work: pages }: Facts): Work {
  return { crawls, otherCrawls, pages }
}

/** Who leads, and the counts of the queue. */
function summary(facts: Facts, canvas: Canvas): string[] {
  const { database, disk, queue, pages } = facts
  const { palette } = canvas
  const missing = facts.binaries.filter(({ missed }) => missed).map(({ name }) => name)
  const done: Part[] = [
    { text: counted(pages.archived, 'archived'), style: palette.green },
    { text: counted(pages.partial, 'partial'), style: palette.yellow },
    { text: counted(pages.failed, 'failed'), style: palette.red },
    { text: counted(pages.sealed - pages.archived - pages.partial - pages.failed, 'sealed') },
  ]
  const open: Part[] = [
    { text: counted(pages.working, 'working') },
    { text: counted(pages.waiting, 'waiting to be tried again') },
    { text: counted(pages.interrupted, 'interrupted'), style: palette.yellow },
    { text: counted(pages.queued, 'queued') },
    { text: counted(pages.paused, 'paused'), style: palette.yellow },
  ]
  const lines: [key: string, parts: readonly Part[]][] = [
    ['data dir', [{ text: oneLine(facts.data_dir) }]],
    ['runner', runnerParts(facts, canvas)],
    ['standing by', facts.standbys.map(({ pid }) => ({ text: `pid ${pid}` }))],
    ['server', facts.servers.map(({ url, pid }) => ({ text: url ?? `pid ${pid}, starting` }))],
    ['crawls', statesOf(queue.crawl)],
    ['pages', atLeastOne([...open, ...done].filter(({ text }) => text !== ''))],
    ['programs', missing.map((name, at) => ({ text: at === 0 ? `not found: ${name}` : name, style: palette.yellow }))],
    ['schedules', scheduleParts(facts, canvas)],
    ['backup', backupParts(facts, canvas)],
    [
      'to remove',
      facts.files_to_remove.map(({ node, rows }) => ({
        text: `files of ${many(rows, 'row')} on node ${oneLine(node)}`,
      })),
    ],
    [
      'database',
      [
        { text: `${database.kind} PostgreSQL ${shortVersion(database.server_version)}` },
        { text: sizeText(database.size_bytes) },
      ],
    ],
    ['disk', [{ text: `${sizeText(disk.free_bytes)} free` }, { text: `archive ${sizeText(disk.archive_bytes)}` }]],
  ]
  return lines.flatMap(([key, parts]) => (parts.length === 0 ? [] : field(key, parts, canvas)))
}

function runnerParts({ runner }: Facts, { palette }: Canvas): Part[] {
  if (runner.state === 'none') return [{ text: 'none', style: palette.yellow }]
  const beat = runner.heartbeat_age_s ?? 0
  return [
    { text: runner.state, style: runner.state === 'running' ? palette.bold : palette.yellow },
    { text: `pid ${runner.pid}` },
    { text: `term ${runner.term}` },
    { text: `for ${duration((Date.now() - runner.started_at!.getTime()) / 1000)}` },
    { text: `heartbeat ${duration(beat)} ago` },
  ]
}

function scheduleParts({ schedules: { active, paused, next } }: Facts, { palette }: Canvas): Part[] {
  const parts: Part[] = [
    { text: counted(active, 'active') },
    { text: counted(paused, 'paused'), style: palette.yellow },
    { text: next ? `next ${inZone(next.next_at, next.timezone)}` : '' },
    { text: next ? oneLine(next.what) : '' },
  ]
  return parts.filter(({ text }) => text !== '')
}

/** Nothing where nobody has asked for one. */
function backupParts({ backup: { last, failed, every_s: every, next_in_s: next } }: Facts, canvas: Canvas): Part[] {
  if (!last && !failed && every === null) return []
  const { palette } = canvas
  const isDue = next !== null && next <= 0
  const parts: Part[] = [
    { text: failed ? `failed ${duration(failed.age_s)} ago` : '', style: palette.red },
    { text: last ? `${failed ? 'the last one ' : ''}${duration(last.age_s)} ago` : 'none yet' },
    { text: last?.size ? sizeText(last.size) : '' },
    { text: isDue ? 'due now' : '', style: palette.yellow },
    { text: next === null || isDue ? '' : `next in ${duration(next)}` },
  ]
  return parts.filter(({ text }) => text !== '')
}

const shortVersion = (version: string) => version.split(' ')[0]!
const counted = (count: number, what: string) => (count > 0 ? `${count} ${what}` : '')

function statesOf(states: Readonly<Record<string, number>>): Part[] {
  return atLeastOne(
    Object.entries(states)
      .filter(([, count]) => count > 0)
      .map(([state, count]) => ({ text: `${count} ${state}` })),
  )
}

const atLeastOne = (parts: readonly Part[]): Part[] => (parts.length > 0 ? [...parts] : [{ text: 'none' }])

/** A key and its values, on several lines where one is too short. */
function field(key: string, parts: readonly Part[], { columns, palette }: Canvas): string[] {
  const indent = columns < NARROW ? 2 : KEY_WIDTH
  const used = Math.max(key.length + 1, columns < NARROW ? 0 : KEY_WIDTH) - indent
  const [first = '', ...others] = flow(parts, ', ', columns - indent, used)
  const head = `${palette.dim(cutMiddle(key, columns))}${' '.repeat(Math.max(1, indent - key.length))}`
  return [`${head}${first}`.trimEnd(), ...others.map((line) => `${' '.repeat(indent)}${line}`)]
}

function failuresOf({ failures, recent_failures: recent }: Facts) {
  return failureLines(failures, (id) => recent.find(({ snapshot_id }) => snapshot_id === id)?.url)
}

/** The last failures by kind, each with the command that retries it. */
function failureBlock(failures: ReturnType<typeof failuresOf>, { columns, palette }: Canvas, given: Given): string[] {
  if (failures.length === 0) return []
  const indent = columns < NARROW ? 2 : 4
  const lines = failures.flatMap((failure) => [
    `  ${palette[failure.isPartial ? 'yellow' : 'red'](failureText(failure, columns - 2))}`,
    ...wrapped(toType(given, failure.command), columns - indent, palette.dim).map((line) => ' '.repeat(indent) + line),
  ])
  return [palette.dim('last failures'), ...lines]
}

/** Processes that could not be ended: only their own page waits for them. */
function whatIsStuck({ stuck }: Facts, { columns, palette }: Canvas): string[] {
  if (stuck.length === 0) return []
  const lines = stuck.flatMap(({ why }) => wrapped(oneLine(why ?? ''), columns - 2, palette.yellow))
  return [palette.bold(cutMiddle('cannot be ended', columns)), ...lines.map((line) => `  ${line}`)]
}

/** `1 page in work`; '': none. */
const someOf = (count: number, noun: string, rest: string) => (count === 0 ? '' : many(count, noun) + rest)

/** The nodes, where there are several: who works on what, and what is lost. */
function nodeBlock({ nodes = [] }: Facts, { columns, palette }: Canvas): string[] {
  if (nodes.length === 0) return []
  const lines = nodes.flatMap((node) => {
    const { name, here, state, leads, heartbeat_age_s: age, pages, file_jobs: jobs } = node
    const parts: Part[] = [
      { text: `${oneLine(name)}${here ? ' (here)' : ''}` },
      { text: nodeState(node), style: nodeColour(node, palette) },
      { text: leads ? '' : `heard of ${duration(Math.max(0, age))} ago` },
      { text: someOf(node.crawls_in_work, 'crawl', ' in work') },
      { text: someOf(node.pages_in_work, 'page', ' in work') },
      { text: someOf(jobs, 'removal', ' of files to do'), style: palette.yellow },
      { text: state === 'lost' ? someOf(pages ?? 0, 'page', ' with files only there') : '', style: palette.red },
    ]
    return flow(
      parts.filter(({ text }) => text !== ''),
      ', ',
      columns - 4,
      0,
    ).map((line, index) => `${index === 0 ? '  ' : '    '}${line}`)
  })
  return [palette.dim('nodes'), ...lines]
}

/** Why nothing moves, and what to do: in full, whatever the width. */
function whyNothingMoves({ blocked_reason: reason }: Facts, { columns, palette }: Canvas, given: Given): string[] {
  if (reason === null) return []
  const lines = wrapped(toType(given, oneLine(reason)), columns - 2, palette.yellow)
  return [palette.bold(cutMiddle('nothing moves', columns)), ...lines.map((line) => `  ${line}`)]
}

/** Why the last attempt at a backup failed, in full. */
function whyNoBackup({ backup: { failed } }: Facts, { columns, palette }: Canvas): string[] {
  if (!failed) return []
  const lines = wrapped(oneLine(failed.why ?? ''), columns - 2, palette.yellow)
  return [palette.bold(cutMiddle('no backup', columns)), ...lines.map((line) => `  ${line}`)]
}
