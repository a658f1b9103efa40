import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestHome } from '../support/homes.ts'
import { brokenPromises } from '../support/promises.ts'
import type { Machine } from './network.ts'

/** A hook that a thawed machine ends may go on for so long. */
const LEAVES_MS = 1_000

interface PublishedResult extends Record<string, unknown> {
  readonly id: string
  readonly node: string | null
  readonly output_dir: string
  readonly plugin: string
  readonly output_files: Readonly<Record<string, { readonly size: number }>>
}

/** What must be true when all machines are back, and all work is done. @returns what is not */
export async function verdict(home: TestHome, machines: readonly Machine[], ticks: string): Promise<string[]> {
  const rows = async (what: string, sql: string) =>
    (await home.query(sql)).map((row) => `${what}: ${JSON.stringify(row)}`)
  return [
    ...(await rows('a page is not sealed', "select id, status from snapshot where status <> 'sealed'")),
    ...(await rows('a crawl is not sealed', "select id, status from crawl where status <> 'sealed'")),
    ...(await rows(
      'a page was not sealed once',
      `select row_id, count(*) from transition where model = 'snapshot' and to_status = 'sealed'
       group by row_id having count(*) <> 1`,
    )),
    ...(await rows(
      'a page has results of two nodes, or not of its home',
      `select s.id, s.home_node, array_agg(distinct r.node_id) as nodes
       from snapshot s join latest_result r on r.snapshot_id = s.id where r.output_files <> '{}'
       group by s.id having count(distinct r.node_id) <> 1 or min(r.node_id::text) is distinct from s.home_node::text`,
    )),
    ...(await rows(
      'a hook did not succeed',
      "select snapshot_id, plugin, status, output_str from latest_result where status <> 'succeeded'",
    )),
    ...(await rows('files wait for their removal', 'select node_id, what, ids, why from file_job')),
    ...(await brokenPromises(home)).map((name) => `broken: ${name}`),
    ...(await missing(home, machines)),
    ...overlaps(machines, ticks),
  ]
}

/** Files that are not on the disk of the node that a result names, with their size. */
async function missing(home: TestHome, machines: readonly Machine[]): Promise<string[]> {
  const results = await home.query<PublishedResult>(`
    select r.id, n.name as node, s.output_dir, r.plugin, r.output_files
    from latest_result r join snapshot s on s.id = r.snapshot_id left join node n on n.id = r.node_id
    where r.output_files <> '{}'`)
  return results.flatMap(({ node, output_dir, plugin, output_files }) => {
    const machine = machines.find(({ name }) => name === node)
    if (!machine) return [`a result is on no node: ${node} ${output_dir}`]
    return Object.entries(output_files).flatMap(([path, { size }]) => {
      const file = join(machine.home.dataDir, output_dir, plugin, path)
      if (!existsSync(file)) return [`missing on ${node}: ${file}`]
      const found = lstatSync(file).size
      return found === size ? [] : [`${file} has ${found} bytes, not ${size}`]
    })
  })
}

/**
 * Pages on which two machines worked at a time, by what their hooks wrote ten times a second: a page, a machine, a
 * time. A machine that stood still meanwhile may not know it for a moment.
 */
function overlaps(machines: readonly Machine[], ticks: string): string[] {
  const first = new Map<string, Map<string, number>>()
  const found = new Set<string>()
  for (const line of readFileSync(ticks, 'utf8').trim().split('\n')) {
    const [page, name, text] = line.split(' ') as [string, string, string]
    const at = Number(text)
    const begun = first.get(page) ?? new Map<string, number>()
    first.set(page, begun)
    if (!begun.has(name)) begun.set(name, at)
    const later = [...begun].some(([other, since]) => other !== name && since > begun.get(name)! && since < at)
    const { thawedAt } = machines.find((machine) => machine.name === name)!
    if (later && !thawedAt.some((since) => at >= since && at - since < LEAVES_MS))
      found.add(`two machines worked on ${page} at a time: ${name} and ${[...begun.keys()].join(', ')}`)
  }
  return [...found]
}
