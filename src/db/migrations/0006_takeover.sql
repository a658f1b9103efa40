-- changes: a runner's row says since when it leads; a takeover has a grace

-- Since when a runner leads (it may have waited long before), and how long the newer one that asked for the lead will
-- wait for it.
alter table process add column promoted_at timestamptz, add column handoff_grace_s real;
