-- Is nothing open of a crawl, and nothing to come? Asked by the statement that seals it. Whoever adds a page to a crawl
-- locks its row first, and so does this: what it finds holds until the end of the transaction. Each statement of such a
-- function sees what was committed before it, also by whoever held the lock. By its cost it is asked last.
create function crawl_is_over(asked uuid) returns boolean language plpgsql volatile cost 1000000 as $$
declare
  is_listed boolean;
begin
  select next_part is not null into is_listed from crawl where id = asked for no key update;
  return not coalesce(
    nullif(is_listed, false),
    (select true from snapshot
      where in_index_order() and crawl_id = asked and status in ('queued', 'started') order by retry_at, id limit 1),
    (select true from snapshot where in_index_order() and crawl_id = asked and status = 'paused' limit 1),
    false);
end $$;
