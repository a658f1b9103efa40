-- changes: lists of any length are queued whole and become pages part by part
-- rewrites: crawl
-- reads: snapshot, transition

-- A list of URLs is kept in parts, each of which becomes pages in a transaction of its own. The first, small one lies
-- in `crawl.urls`: it is what is shown of the list. The others lie here.
create table crawl_source (
  crawl_id uuid not null references crawl on delete cascade,
  part     integer not null check (part > 0),
  urls     text not null,                                          -- one a line
  primary key (crawl_id, part)
);

alter table crawl
  add column urls_total integer not null default 1 check (urls_total > 0),
  -- of its list, what becomes pages next; null: nothing
  add column next_part  integer default 0 check (next_part >= 0),
  add column page_count integer not null default 0 check (page_count >= 0);

insert into crawl_source (crawl_id, part, urls)
  select c.id, 1 + (n - 101) / 2000, string_agg(url, e'\n' order by n)
  from crawl c, unnest(string_to_array(c.urls, e'\n')) with ordinality as list (url, n)
  where n > 100 group by 1, 2;

update crawl c set
  urls_total = cardinality(string_to_array(nullif(urls, ''), e'\n')),
  urls = array_to_string((string_to_array(urls, e'\n'))[1:100], e'\n')
  where strpos(urls, e'\n') > 0;
update crawl c set next_part = null
  where exists (select 1 from transition t where t.row_id = c.id and t.model = 'crawl' and t.event = 'start');
update crawl c set page_count = pages.count
  from (select crawl_id, count(*) from snapshot group by 1) pages where pages.crawl_id = c.id;
