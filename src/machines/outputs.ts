import { type RawBuilder, sql } from 'kysely'
import type { PublishedFiles } from '../db/tables.ts'

// A published file belongs to one result: that of the last hook that wrote it. Results of one plugin share a folder,
// and later attempts replace what earlier ones made; each names what is in place of its own, so that sizes add up and a
// deletion takes what is its own.

/** The bytes of the published files of a page, each once: an expression. */
export function outputSize(snapshotId: RawBuilder<unknown>): RawBuilder<number> {
  return sql`(select coalesce(sum(output_size), 0) from archive_result where snapshot_id = ${snapshotId})`
}

/**
 * For a statement that has `mine` (the id of a page): `own`, the files of a result whose hook has just been published,
 * and `size`, their bytes. The other results of its plugin keep of theirs what is still in place and was not written
 * again.
 */
export function handingOver(resultId: string, { written, standing }: PublishedFiles): RawBuilder<unknown> {
  if (Object.keys(written).length + Object.keys(standing).length === 0)
    return sql`own as (select '{}'::jsonb as files, 0 as size)`
  const left = JSON.stringify(standing)
  return sql`
  others as (
    select r.id, r.output_files from archive_result r, archive_result this, mine
    where this.id = ${resultId} and r.snapshot_id = mine.id and r.plugin = this.plugin and r.id <> this.id
      and r.output_files <> '{}'
  ), kept as (
    select o.id, file.key as path, file.value as file from others o, jsonb_each(o.output_files) file
    where jsonb_exists(${left}::jsonb, file.key)
  ), each_kept as (
    select id, jsonb_object_agg(path, file) as files, sum((file ->> 'size')::bigint) as size from kept group by id
  ), handed_over as (
    update archive_result r set output_files = coalesce(k.files, '{}'), output_size = coalesce(k.size, 0)
    from others o left join each_kept k on k.id = o.id
    where r.id = o.id and r.output_files <> coalesce(k.files, '{}')
  ), own as (
    select coalesce(jsonb_object_agg(key, value), '{}') as files, coalesce(sum((value ->> 'size')::bigint), 0) as size
    from (
      select * from jsonb_each(${JSON.stringify(written)}::jsonb)
      union all select * from jsonb_each(${left}::jsonb) where key not in (select path from kept)
    ) file
  )`
}
