-- changes: results of one plugin in one status are listed at once
-- reads: archive_result

-- Lists of the results of one plugin in one status, newest first. Its own results are those of all statuses together.
drop index archive_result_plugin;
create index archive_result_plugin on archive_result (plugin, status, id);

-- Whether a page has a result in a status that most results do not come to, without a look at its results. Those that
-- go on are not in it: a result is written once more for it, at its end, and only if that is one of these.
create index archive_result_of_page on archive_result (status, snapshot_id, id)
  where status in ('failed', 'skipped', 'noresults');
