-- The results of a page change together: their counts are changed once for each statement, not once for each result.
create function count_changed_results() returns trigger language plpgsql as $$
begin
  insert into row_change (model, status, rows)
  select 'archive_result', status, sum(change)
  from (
    select status, count(*) as change from after_change where end_ts is not null group by status
    union all
    select status, -count(*) from before_change where end_ts is not null group by status
  ) changes
  group by status having sum(change) <> 0;
  return null;
end $$;
drop trigger result_changed on archive_result;
create trigger results_changed after update on archive_result
  referencing old table as before_change new table as after_change
  for each statement execute function count_changed_results();
