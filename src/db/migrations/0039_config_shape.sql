-- changes: no configuration of a crawl keeps it from its end
-- reads: crawl

-- What no program of ours writes as the configuration of a crawl would fail each attempt at it, and its seal: it is an
-- object, its plugins are a list, its patterns text. Who reads it judges the rest. A crawl that has none goes on
-- without, and says so.
update crawl set message = concat_ws('; ', nullif(message, ''), 'its configuration was none'), config = '{}'
where not (jsonb_typeof(config) = 'object' and coalesce(jsonb_typeof(config -> 'plugins'), 'array') = 'array'
  and coalesce(jsonb_typeof(config -> 'url_allowlist'), 'string') = 'string'
  and coalesce(jsonb_typeof(config -> 'url_denylist'), 'string') = 'string');
alter table crawl add constraint crawl_config_check
  check (jsonb_typeof(config) = 'object' and coalesce(jsonb_typeof(config -> 'plugins'), 'array') = 'array'
    and coalesce(jsonb_typeof(config -> 'url_allowlist'), 'string') = 'string'
    and coalesce(jsonb_typeof(config -> 'url_denylist'), 'string') = 'string');
