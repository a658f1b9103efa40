-- Plugins whose set-up for the crawl failed, each with the reason: the workers of its pages must not wait for them.
alter table crawl add column unable jsonb not null default '{}';
