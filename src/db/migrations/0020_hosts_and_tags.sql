-- changes: pages are listed by host, and have their tags in the index of the archive
-- reads: snapshot

-- The host of a URL, with its port when the URL has one; '' where there is none.
create function url_host(url text) returns text language sql immutable parallel safe
  as $$ select coalesce(substring(url from '^[a-z0-9+.-]+://(?:[^/?#@]*@)?([^/?#]+)'), '') $$;

-- Pages of one host, newest first.
create index page_url_host on page_url (url_host(url), snapshot_id);

-- The index of the archive shows the tags of its pages: what changes them changes the page there.
create function note_changed_tags() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'tag' then
    update archived_page set changed = default
    where snapshot_id = any(array(select snapshot_id from snapshot_tag where tag_id = new.id));
  elsif tg_op = 'INSERT' then
    update archived_page set changed = default where snapshot_id = any(array(select snapshot_id from changed));
  else
    update archived_page set changed = default where snapshot_id = old.snapshot_id;
  end if;
  return null;
end $$;
create trigger tags_added after insert on snapshot_tag referencing new table as changed
  for each statement execute function note_changed_tags();
-- By row: the deletion of a page sends a statement here, tags or not.
create trigger tag_removed after delete on snapshot_tag for each row execute function note_changed_tags();
create trigger tag_renamed after update on tag for each row
  when (old.name <> new.name) execute function note_changed_tags();
