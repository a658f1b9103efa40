-- changes: pages that led to other pages are deleted at once
-- reads: snapshot

-- To delete a page sets its children's parent to null: without this each deletion reads the whole table.
create index snapshot_parent on snapshot (parent_snapshot_id) where parent_snapshot_id is not null;
