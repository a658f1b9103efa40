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
