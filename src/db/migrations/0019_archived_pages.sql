-- changes: the index of the archive is written in chunks, which open without a server
-- rewrites: snapshot

-- The pages that the archive's index lists, in the order in which they were sealed first. A number never changes, so
-- that a page stays in its chunk of the index (workers/archive-index.ts); whoever keeps an index asks for what has
-- changed since it looked. Its own table: the rows of pages change with every lease.
create table archived_page (
  number      bigint generated always as identity primary key,
  snapshot_id uuid unique,                                          -- null: deleted
  crawl_id    uuid not null,
  url_hash    bytea not null,
  changed     xid8 not null default pg_current_xact_id()            -- the transaction that changed it last
);
create index archived_page_changed on archived_page (changed, number);
create index archived_page_of_crawl on archived_page (crawl_id, number);
create index archived_page_of_url on archived_page (url_hash, number);

create function keep_archived_pages() returns trigger language plpgsql as $$
begin
  if tg_op = 'TRUNCATE' then
    update archived_page set snapshot_id = null, changed = default where snapshot_id is not null;
  elsif tg_op = 'INSERT' then
    insert into archived_page (snapshot_id, crawl_id, url_hash)
    select id, crawl_id, url_hash from changed where status = 'sealed' order by id;
  elsif tg_op = 'DELETE' then
    update archived_page set snapshot_id = null, changed = default
    where snapshot_id = any(array(select id from changed));
  elsif new.status = 'sealed' then
    update archived_page set changed = default where snapshot_id = new.id;
    if not found then
      insert into archived_page (snapshot_id, crawl_id, url_hash) values (new.id, new.crawl_id, new.url_hash);
    end if;
  else
    update archived_page set changed = default where snapshot_id = new.id;
  end if;
  return null;
end $$;
create trigger archived_pages_added after insert on snapshot referencing new table as changed
  for each statement execute function keep_archived_pages();
create trigger archived_pages_deleted after delete on snapshot referencing old table as changed
  for each statement execute function keep_archived_pages();
create trigger archived_pages_truncated after truncate on snapshot
  for each statement execute function keep_archived_pages();
create trigger archived_page_changed after update on snapshot for each row
  when ((old.status = 'sealed' or new.status = 'sealed')
    and (old.status, old.title, old.output_size, old.outcome, old.cause, old.http_status)
      is distinct from (new.status, new.title, new.output_size, new.outcome, new.cause, new.http_status))
  execute function keep_archived_pages();

insert into archived_page (snapshot_id, crawl_id, url_hash)
  select id, crawl_id, url_hash from snapshot where status = 'sealed' order by status_changed_at, id;
