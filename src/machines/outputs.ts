import { type RawBuilder, sql } from 'kysely'

// A published file belongs to one result: that of the last hook that wrote it. Results of one plugin share a folder,
// and later attempts replace earlier files; each result names only its files that are in place, so that sizes add up
// and a deletion removes the right files.

/** The total bytes of a page's published files, each counted once: an SQL expression. */
export function outputSize(snapshotId: RawBuilder<unknown>): RawBuilder<number> {
  return sql`(select coalesce(sum(output_size), 0) from archive_result where snapshot_id = ${snapshotId})`
}

/**
 * For a statement with `ended` (results with their plugin and its published files: `written` and `standing`, both null
 * for none): `own`, the files and bytes of each. The other results of the plugin keep those of their files that are in
 * place and were not written again: `handed_over` has the rows that lost some. No two results may be of one plugin.
 */
export function handingOver(snapshotId: string): RawBuilder<unknown> {
  return sql`
  others as (
    select r.id, r.output_files, e.plugin, e.standing from archive_result r, ended e
    where r.snapshot_id = ${snapshotId} and r.plugin = e.plugin and r.id <> e.id and e.standing is not null
      and r.output_files <> '{}'
  ), kept as (
    select o.id, o.plugin, file.key as path, file.value as file from others o, jsonb_each(o.output_files) file
    where jsonb_exists(o.standing, file.key)
  ), each_kept as (
    select id, jsonb_object_agg(path, file) as files, sum((file ->> 'size')::bigint) as size from kept group by id
  ), handed_over as (
    update archive_result r set output_files = coalesce(k.files, '{}'), output_size = coalesce(k.size, 0)
    from others o left join each_kept k on k.id = o.id
    where r.id = o.id and r.output_files <> coalesce(k.files, '{}')
    returning r.id, r as result
  ), own as (
    select e.id, coalesce(jsonb_object_agg(file.key, file.value) filter (where file.key is not null), '{}') as files,
           coalesce(sum((file.value ->> 'size')::bigint), 0) as size
    from ended e left join lateral (
      select * from jsonb_each(e.written)
      union all
      select * from jsonb_each(e.standing) left_there
      where not exists (select from kept k where k.plugin = e.plugin and k.path = left_there.key)
    ) file on true
    group by e.id
  )`
}
