import type { Mutant } from './mutant.ts'

/** Mechanisms of src/db. */
export const DB: readonly Mutant[] = [
  {
    name: 'the gate’s index is not unique',
    file: 'src/db/migrations/0005_gate.sql',
    find: 'create unique index single_active_runner_per_data_dir',
    replacement: 'create index single_active_runner_per_data_dir',
    test: 'test/crash/fencing.test.ts',
    only: 'never raised twice',
  },
  {
    name: 'a crawl is sealed beside somebody who adds a page',
    file: 'src/db/migrations/0037_crawl_is_over.sql',
    find: 'where id = asked for no key update',
    replacement: 'where id = asked',
    test: 'test/integration/crawl-ends.test.ts',
    only: 'when somebody is adding a page',
  },
  {
    name: 'nobody says that a crawl was added',
    file: 'src/db/migrations/0001_init.sql',
    find: 'create trigger crawl_queued after insert on crawl for each statement execute function notify_work();',
    replacement:
      'create trigger crawl_queued after truncate on crawl for each statement execute function notify_work();',
    test: 'test/integration/queue.test.ts',
    only: 'tells whoever listens that something was added',
  },
  {
    name: 'a listener never asks whether it still listens',
    file: 'src/db/notifications.ts',
    find: 'const PING_MS = 10_000',
    replacement: 'const PING_MS = 1_000_000',
    test: 'test/integration/notifications.test.ts',
    only: 'half-open',
  },
  {
    name: 'a listener that comes back does not look at what it missed',
    file: 'src/db/notifications.ts',
    find: '      for (const onNews of Object.values(channels)) onNews()\n',
    replacement: '      if (tries < 0) for (const onNews of Object.values(channels)) onNews()\n',
    test: 'test/integration/notifications.test.ts',
    only: 'whose connection was cut',
  },
  {
    name: 'a leader believes in its lead for ever',
    file: 'src/db/heartbeats.ts',
    find: 'const TRUST_MS = 25_000',
    replacement: 'const TRUST_MS = 2_000_000',
    test: 'test/crash/database-outage.test.ts',
    only: 'for longer than a leader may believe in its lead',
  },
  {
    name: 'a runner that registers again leaves its row as it was',
    file: 'src/db/processes.ts',
    find: "          worker_type: 'runner_waiting',\n          standby: values.standby,\n",
    replacement: '',
    test: 'test/crash/liveness.test.ts',
    only: 'that lost the database at the gate',
  },
  {
    name: 'a crawl is sealed while something of its list is left',
    file: 'src/db/snapshots.ts',
    find: 'there or listed as open',
    replacement: 'there as open',
    test: 'test/crash/long-list.test.ts',
    only: 'is archived from its first page on',
  },
  {
    name: 'a limit does not ask how many pages there are',
    file: 'src/db/snapshots.ts',
    find: 'crawl.max_urls - (await pageCount(tx, crawlId))',
    replacement: 'crawl.max_urls + (await pageCount(tx, crawlId))',
    test: 'test/crash/long-list.test.ts',
    only: 'ends where --max-urls does',
  },
]
