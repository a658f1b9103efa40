-- changes: a page can have settings of its own

-- Settings of one page, by name, as written; null: it has those of its crawl.
alter table snapshot add column settings jsonb;
