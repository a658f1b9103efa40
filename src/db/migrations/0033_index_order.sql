-- changes: the next pages are found at once in tables that fill quickly

-- A condition that always holds, for statements that walk along an index to the first few rows of many: while they are
-- planned, other ways are off, to the end of the transaction. What the planner knows of a table that fills is old: when
-- none of its rows was due at the last ANALYZE, it reads and sorts all of them to find the first. "Immutable" has the
-- function called by the planner, and only by the planner.
create function in_index_order() returns boolean language plpgsql immutable as $$
begin
  perform set_config(name, 'off', true)
  from unnest('{enable_seqscan,enable_bitmapscan,enable_sort,enable_incremental_sort}'::text[]) as name;
  return true;
end $$;
