-- changes: plugins say which file is opened first, and where texts and hashes lie

-- What plugins make that has been known by their names until now.
update plugin_meaning kept set makes = kept.makes || more.makes
from (values
  ('archivewebpage', '{"mainFile": "archivewebpage.wacz"}'::jsonb),
  ('chrome', '{"browser": true}'),
  ('defuddle', '{"text": "content.txt"}'),
  ('hashes', '{"hashes": "hashes.json"}'),
  ('mercury', '{"text": "content.txt"}'),
  ('pdf', '{"mainFile": "output.pdf"}'),
  ('trafilatura', '{"text": "content.txt"}')
) more (plugin, makes)
where more.plugin = kept.plugin;
