-- changes: no page waits for a plugin whose set-up has failed

-- Plugins whose set-up for the crawl failed, each with the reason: the workers of its pages must not wait for them.
alter table crawl add column unable jsonb not null default '{}';
