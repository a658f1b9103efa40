-- changes: results of pages that were bookmarked in the future are listed in order
-- reads: archive_result

-- Results that are older than their pages, by their ids. Only an adopted page has such, when it was bookmarked in the
-- future: so a list of results of pages, from before some time, begins with the pages from before that time, and these.
create index archive_result_early on archive_result (snapshot_id) where id < snapshot_id;
