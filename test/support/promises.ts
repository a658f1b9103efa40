import type { Machine } from '../../src/engine/machine.ts'
import { archiveResultMachine } from '../../src/machines/archive-result.ts'
import { binaryMachine } from '../../src/machines/binary.ts'
import { crawlMachine } from '../../src/machines/crawl.ts'
import { snapshotMachine } from '../../src/machines/snapshot.ts'

/** Something that answers SQL: a home of a test, or the observer's own connection. */
export interface Asked {
  query<T extends Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<T[]>
}

/**
 * Conditions on the rows that must hold at every moment, whatever was killed when. Each query returns the rows that
 * break one.
 */
const PROMISES: Readonly<Record<string, string>> = {
  'one active runner': `
    select data_dir_id from process where worker_type = 'worker_runner' and status in ('running', 'draining')
    group by 1 having count(*) > 1`,
  'a term has one leader': `select data_dir_id, term from process where worker_type = 'worker_runner' group by 1, 2
    having count(*) > 1`,
  'a claim has a token of its own': `
    select claim_token from (select claim_token from crawl union all select claim_token from snapshot) c
    where claim_token is not null group by 1 having count(*) > 1`,
  'what is sealed is never due': `
    select id from crawl where status = 'sealed' and retry_at is not null union all
    select id from snapshot where status = 'sealed' and retry_at is not null`,
  'a hook has one final result on a page': `
    select snapshot_id, plugin, hook_name, attempt from archive_result
      where status in ('succeeded', 'failed', 'skipped', 'noresults')
    group by 1, 2, 3, 4 having count(*) > 1`,
  'a sealed page has no open result': `
    select r.id from archive_result r join snapshot s on s.id = r.snapshot_id
    where s.status = 'sealed' and r.status not in ('succeeded', 'failed', 'skipped', 'noresults')`,
  'a sealed crawl has no open page': `
    select s.id from snapshot s join crawl c on c.id = s.crawl_id where c.status = 'sealed' and s.status <> 'sealed'`,
  'a page is sealed once, and once more for each retry': `
    select row_id from transition where model in ('snapshot', 'crawl') group by row_id
    having count(*) filter (where to_status = 'sealed') > 1 + count(*) filter (where event = 'retry')`,
  'a final state is left by a retry alone, or when what its hook worked on is gone': `
    select id from transition where from_status in ('sealed', 'succeeded', 'failed', 'skipped', 'noresults')
      and event <> 'retry' and (model, event) <> ('archive_result', 'repeat')`,
  'each transition starts where the last one ended': `
    select id from (
      select id, from_status, lag(to_status) over (partition by row_id order by id) as before from transition
    ) t
    where before is not null and before <> from_status`,
  'only edges of the graphs': `
    select id from transition t where (model, from_status, event,
      to_status) not in (${edges([crawlMachine, snapshotMachine, archiveResultMachine, binaryMachine])})`,
  'a sealed page has an outcome': `select id from snapshot where status = 'sealed' and outcome is null`,
  'kept counts are those of the rows': `
    select from (
      select model, status, outcome, rows, bytes from row_count union all
      select 'crawl', status, '', -1, 0 from crawl union all
      select 'snapshot', status, coalesce(outcome, ''), -1, -output_size from snapshot union all
      select 'archive_result', status, plugin, -1, 0 from archive_result where end_ts is not null union all
      select 'snapshot_tag', tag_id::text, '', -1, 0 from snapshot_tag
    ) counted group by model, status, outcome having sum(rows) <> 0 or sum(bytes) <> 0
    union all
    select from (
      select crawl_id, status, outcome, pages, bytes from crawl_pages union all
      select crawl_id, status, coalesce(outcome, ''), -1, -output_size from snapshot
    ) counted group by crawl_id, status, outcome having sum(pages) <> 0 or sum(bytes) <> 0
    union all
    select from (
      select crawl_id, host, bytes from host_bytes union all
      select crawl_id, url_host(lower(url)), -output_size from snapshot where status = 'sealed'
    ) counted join crawl_by_host using (crawl_id) group by crawl_id, host having sum(bytes) <> 0`,
  'a success has its process, unless another program made it': `
    select r.id from archive_result r join snapshot s on s.id = r.snapshot_id join crawl c on c.id = s.crawl_id
    where r.status = 'succeeded' and r.process_id is null and not jsonb_exists(c.config, 'adopted')`,
  'exit code 0 is never made up': `select id from process where status = 'lost' and exit_code is not null`,
  'a child is started by somebody': `
    select id from process where process_type in ('worker', 'hook') and (parent_id is null or runner_id is null)`,
}

/** Every edge of these graphs, as SQL: model, from, event, to. */
function edges(machines: readonly Machine[]): string {
  const all = machines.flatMap(({ name, states }) =>
    Object.entries(states).flatMap(([from, { on, reopen }]) =>
      Object.entries({ ...on, ...reopen }).map(([event, to]) => [name, from, event, to]),
    ),
  )
  return all.map((edge) => `(${edge.map((word) => `'${word}'`).join(', ')})`).join(', ')
}

const BROKEN = Object.entries(PROMISES)
  .map(([name, sql]) => `select '${name}' as name where exists (${sql})`)
  .join(' union all ')

/** The promises that this home's rows break, by name. */
export async function brokenPromises(home: Asked): Promise<string[]> {
  return (await home.query<{ name: string }>(BROKEN)).map(({ name }) => name)
}
