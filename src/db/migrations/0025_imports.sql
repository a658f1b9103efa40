-- changes: imported lists keep titles, tags, notes and dates; the bytes of a crawl are limited
-- rewrites: crawl
-- reads: snapshot

-- What an imported list says of its URLs besides: titles, tags, notes, dates. In parts like the list itself; part 0
-- belongs to the URLs in the row of the crawl.
create table crawl_detail (
  crawl_id uuid not null references crawl on delete cascade,
  part     integer not null check (part >= 0),
  details  text not null,                                          -- a JSON object per line and URL, or an empty line
  primary key (crawl_id, part)
);

alter table snapshot
  add column notes         text,
  add column bookmarked_at timestamptz;                            -- null: in no list of bookmarks

-- How many bytes the pages of each crawl take is kept like their count, since a crawl may be limited by it.
alter table crawl_total add column bytes bigint not null default 0;
update crawl_total t set bytes = actual.bytes - coalesce(pending.bytes, 0)
  from (select crawl_id, status, coalesce(outcome, '') as outcome, sum(output_size) as bytes
        from snapshot group by 1, 2, 3) actual
  left join (select crawl_id, status, outcome, sum(bytes) as bytes
             from row_change where crawl_id is not null group by 1, 2, 3) pending using (crawl_id, status, outcome)
  where (t.crawl_id, t.status, t.outcome) = (actual.crawl_id, actual.status, actual.outcome);
create or replace view crawl_pages as
  select crawl_id, status, pages, outcome, bytes from crawl_total
  union all select crawl_id, status, rows, outcome, bytes from row_change where crawl_id is not null;
