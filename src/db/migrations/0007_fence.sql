-- changes: no process of a runner that has been replaced can start

-- Whoever works for a runner announces a process only while that runner leads: the row of the term is locked until the
-- announcement is committed, so none slips past a promotion.
create function require_lead() returns trigger language plpgsql as $$
begin
  perform 1 from runner_term where data_dir_id = new.data_dir_id and process_id = new.runner_id for share;
  if not found then
    raise exception 'runner % leads no more', new.runner_id using errcode = 'ABX01';
  end if;
  return new;
end $$;
create trigger process_fence before insert on process for each row when (new.runner_id is not null)
  execute function require_lead();
