-- changes: a crawl is sealed in one step

-- Is nothing open of a crawl, and nothing to come? Asked by the statement that seals it. Whoever adds, resumes or
-- retries a page of a crawl locks its row first, and so does this: what it finds holds until the end of the
-- transaction. Each statement of such a function sees what was committed before it, also by whoever held the lock. By
-- its cost it is asked last.
create function crawl_is_over(asked uuid) returns boolean language plpgsql volatile cost 1000000 as $$
declare
  is_listed boolean;
begin
  select next_part is not null into is_listed from crawl where id = asked for no key update;
  if is_listed then
    return false;
  end if;
  return not exists (
    select from snapshot where in_index_order() and crawl_id = asked and status in ('queued', 'started', 'paused'));
end $$;
