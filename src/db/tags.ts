import { type RawBuilder, sql } from 'kysely'
import { watchPages } from './cancelled-pages.ts'
import { PAGES_OF_TAGS } from './counts.ts'
import type { Database } from './database.ts'
import { transact } from './retry.ts'
import { tagSnapshots } from './snapshots.ts'

export interface Tag {
  readonly id: string
  readonly name: string
  readonly pages: number
}

/** All tags with the number of their pages, in the order of their names; or those with these names. */
export async function listTags(db: Database, names?: readonly string[]): Promise<Tag[]> {
  const { rows } = await sql<Tag>`
    select t.id, t.name, coalesce(count.pages, 0) as pages
    from tag t left join (${PAGES_OF_TAGS}) count on count.id = t.id
    where ${names === undefined ? sql`true` : sql`t.name = any(${names}::text[])`} order by t.name`.execute(db)
  return rows
}

/** Renames a tag to a name that does not exist yet: on pages, crawls, and the crawls that schedules will create. */
export async function renameTag(db: Database, tag: Tag, name: string): Promise<void> {
  await transact(db, async (tx) => {
    await replaceInLists(tx, [tag], name)
    await sql`update tag set name = ${name} where id = ${tag.id}`.execute(tx)
  })
}

/** Replaces some tags of pages by another one. */
export async function mergeTags(db: Database, from: readonly Tag[], into: Tag): Promise<void> {
  await transact(db, async (tx) => {
    const ids = await replaceInLists(tx, from, into.name)
    await sql`
      insert into snapshot_tag (snapshot_id, tag_id)
      select snapshot_id, ${into.id}::uuid from snapshot_tag where tag_id = any(${ids}::uuid[])
      on conflict do nothing`.execute(tx)
    await sql`delete from tag where id = any(${ids}::uuid[])`.execute(tx)
  })
}

/** Removes tags from everything that has them. */
export async function deleteTags(db: Database, tags: readonly Tag[]): Promise<void> {
  await transact(db, async (tx) => {
    const ids = await replaceInLists(tx, tags, null)
    await sql`delete from tag where id = any(${ids}::uuid[])`.execute(tx)
  })
}

/** Adds tags to pages, and removes others. A tag without pages stays. */
export async function changeTags(
  db: Database,
  snapshotIds: readonly string[],
  { add, remove }: { readonly add: readonly string[]; readonly remove: readonly string[] },
): Promise<void> {
  await transact(db, async (tx) => {
    if (add.length > 0) await tagSnapshots(tx, snapshotIds, add)
    await sql`
      delete from snapshot_tag where snapshot_id = any(${snapshotIds}::uuid[])
        and tag_id = any(array(select id from tag where name = any(${remove}::text[])))`.execute(tx)
    await watchPages(tx, sql`select id from snapshot where id = any(${snapshotIds}::uuid[]) and status = 'sealed'`)
  })
}

/**
 * In the lists of tags of crawls, in those of schedules for future crawls, and in the details of URLs that have no
 * pages yet. Before the tags themselves: a crawl that is locked here creates no more pages with the old names, and
 * pages that it created have rows by then. The rest of a cancelled list keeps the old names: no index finds it. The
 * leader rewrites the folders of pages with these tags (`../workers/repair/reconcile-work.ts`).
 * @param name null: they are removed
 * @returns the ids of the tags
 */
async function replaceInLists(tx: Database, tags: readonly Tag[], name: string | null): Promise<string[]> {
  const names = tags.map((tag) => tag.name)
  const ids = tags.map(({ id }) => id)
  const replaced = (tags: RawBuilder<unknown>) => sql`array(
    select name from ${tags} with ordinality as each (tag, place)
    cross join lateral (select case when tag = any(${names}::text[]) then ${name}::text else tag end) as kept (name)
    where name is not null group by name order by min(place))`
  await sql`
    update crawl set modified_at = now(), tags = ${replaced(sql`unnest(tags)`)}
    where tags && ${names}::text[]`.execute(tx)
  const tagsIn = sql`nullif(line.text, '')::jsonb -> 'tags'`
  await sql`
    with pending as (
      select id, next_part from crawl c
      where status in ('queued', 'started', 'paused') and next_part is not null and exists (
        select from crawl_detail d, unnest(${names}::text[]) n (name)
        where d.crawl_id = c.id and d.part >= c.next_part and strpos(d.details, to_json(n.name)::text) > 0)
      order by id for no key update
    )
    update crawl_detail d set details = (
      select string_agg(case when ${tagsIn} ?| ${names}::text[] then jsonb_set(line.text::jsonb, '{tags}',
          to_jsonb(${replaced(sql`jsonb_array_elements_text(${tagsIn})`)}))::text
        else line.text end, E'\n' order by line.place)
      from string_to_table(d.details, E'\n') with ordinality line (text, place))
    from pending where d.crawl_id = pending.id and d.part >= pending.next_part`.execute(tx)
  await sql`
    update schedule set modified_at = now(),
      crawl = jsonb_set(crawl, '{tags}', to_jsonb(${replaced(sql`jsonb_array_elements_text(crawl->'tags')`)}))
    where crawl->'tags' ?| ${names}::text[]`.execute(tx)
  await watchPages(
    tx,
    sql`select id from snapshot where status = 'sealed'
      and id = any(array(select snapshot_id from snapshot_tag where tag_id = any(${ids}::uuid[])))`,
  )
  return ids
}
