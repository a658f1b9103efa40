-- changes: no row names a folder outside of `archive/`
-- reads: crawl, snapshot

-- Whoever can write a row does not decide where files are written or deleted: its folder lies in archive/, without a
-- step up, an empty part or a control character. No release has written another. Rows that have one nevertheless,
-- written by a foreign hand, get a folder of their own, and what lay in the other is left alone; a crawl says which
-- that was, and a page in its notes.
update crawl set message = concat_ws('; ', nullif(message, ''), 'its folder was ' || output_dir),
  output_dir = 'archive/crawls/elsewhere/' || id
where not (output_dir like 'archive/_%' and output_dir !~ '(^|/)\.{0,2}(/|$)|[\u0001-\u001f\u007f]');
update snapshot set notes = concat_ws('; ', notes, 'its folder was ' || output_dir),
  output_dir = 'archive/snapshots/elsewhere/' || id
where not (output_dir like 'archive/_%' and output_dir !~ '(^|/)\.{0,2}(/|$)|[\u0001-\u001f\u007f]');
alter table crawl add constraint crawl_output_dir_check
  check (output_dir like 'archive/_%' and output_dir !~ '(^|/)\.{0,2}(/|$)|[\u0001-\u001f\u007f]');
alter table snapshot add constraint snapshot_output_dir_check
  check (output_dir like 'archive/_%' and output_dir !~ '(^|/)\.{0,2}(/|$)|[\u0001-\u001f\u007f]');
