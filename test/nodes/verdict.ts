import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import type { TestHome } from '../support/homes.ts'
import { brokenPromises } from '../support/promises.ts'
import type { Machine } from './machine.ts'
import { overlaps } from './overlaps.ts'

/** A crawl that `add` said it had added. */
export interface Added {
  readonly crawl: string
  readonly pages: number
}

/** What is left of a night. */
export interface Morning {
  readonly home: TestHome
  readonly machines: readonly Machine[]
  /** Nothing that was said to be done may be lost. */
  readonly isSync: boolean
  readonly added: readonly Added[]
  /** The file that hooks wrote to. */
  readonly ticks: string
  say(line: string): void
}

interface PublishedResult extends Record<string, unknown> {
  readonly id: string
  readonly node_id: string | null
  readonly output_dir: string
  readonly plugin: string
  readonly output_files: Readonly<Record<string, { readonly size: number }>>
}

/** What must be true when all machines are back, and all work is done. @returns what is not */
export async function verdict(morning: Morning): Promise<string[]> {
  const { home, machines, ticks } = morning
  const rows = async (what: string, sql: string) =>
    (await home.query(sql)).map((row) => `${what}: ${JSON.stringify(row)}`)
  return [
    ...(await rows('a page is not sealed', "select id, status from snapshot where status <> 'sealed'")),
    ...(await rows('a crawl is not sealed', "select id, status from crawl where status <> 'sealed'")),
    ...(await rows(
      'a page was not sealed once, and once more after the loss of its files',
      `select row_id, count(*) filter (where to_status = 'sealed') from transition where model = 'snapshot'
       group by row_id
       having count(*) filter (where to_status = 'sealed') <> 1 + count(*) filter (where event = 'retry')`,
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
    ...(await gone(morning)),
    ...(await unverified(morning)),
    ...overlaps(machines, ticks),
  ]
}

/** Files that are not on the disk of the node that a result names, with their size. */
async function missing(home: TestHome, machines: readonly Machine[]): Promise<string[]> {
  const results = await home.query<PublishedResult>(`
    select r.id, r.node_id, s.output_dir, r.plugin, r.output_files
    from latest_result r join snapshot s on s.id = r.snapshot_id where r.output_files <> '{}'`)
  const ids = await Promise.all(machines.map((machine) => machine.id()))
  return results.flatMap(({ node_id, output_dir, plugin, output_files }) => {
    const machine = machines[ids.indexOf(node_id ?? '')]
    if (!machine) return [`a result is on no node: ${node_id} ${output_dir}`]
    return Object.entries(output_files).flatMap(([path, { size }]) => {
      const file = join(machine.home.dataDir, output_dir, plugin, path)
      if (!existsSync(file)) return [`missing on ${machine.name}: ${file}`]
      const found = lstatSync(file).size
      return found === size ? [] : [`${file} has ${found} bytes, not ${size}`]
    })
  })
}

/** Crawls that `add` said it had added, and that are not there: a synchronous standby has them all. */
async function gone({ home, isSync, added, say }: Morning): Promise<string[]> {
  const rows = await home.query<{ id: string; pages: number }>(
    'select crawl_id as id, count(*)::int as pages from snapshot group by 1',
  )
  const there = new Map(rows.map(({ id, pages }) => [id, pages]))
  const lost = added.filter(({ crawl, pages }) => there.get(crawl) !== pages)
  if (lost.length > 0 && !isSync) say(`${lost.length} of ${added.length} crawls were lost with the primary`)
  return isSync ? lost.map(({ crawl }) => `a crawl was added, and is not there: ${crawl}`) : []
}

/** What `verify` finds on each machine; where commits may be lost, after it has mended what that left. */
async function unverified({ machines, isSync, say }: Morning): Promise<string[]> {
  const found: string[] = []
  for (const machine of machines) {
    if (!isSync) {
      const { code, stdout, stderr } = await machine.run('verify', '--mend')
      const problems = stdout.split('\n').filter((line) => line.includes('"type":"Problem"'))
      say(`${machine.name}: verify --mend had ${problems.length} to do`)
      if (code !== 0) found.push(`verify --mend on ${machine.name} ended with ${code}: ${stdout}${stderr}`)
    }
    const { code, stdout, stderr } = await machine.run('verify')
    if (code !== 0) found.push(`verify on ${machine.name} ended with ${code}: ${stdout}${stderr}`)
  }
  return found
}
