-- changes: on a server of one's own that compiles statements (`jit`, on by default), pages are found at once
-- kind: additive

-- As in 0033. What is off is priced so high that the server would take each statement for a huge one, and compile it:
-- half a second on an idle machine, for a claim that reads one row.
create or replace function in_index_order() returns boolean language plpgsql immutable as $$
begin
  perform set_config(name, 'off', true)
  from unnest('{enable_seqscan,enable_bitmapscan,enable_sort,enable_incremental_sort,jit}'::text[]) as name;
  return true;
end $$;
