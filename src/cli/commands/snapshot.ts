import type { Home } from '../../db/home.ts'
import { type ListedSnapshot, listedByIds } from '../../db/listings.ts'
import { cancelSnapshots, pauseSnapshots, resumeSnapshots } from '../../machines/commands.ts'
import { deleteSnapshot } from '../../machines/deletion.ts'
import { reconcilePages } from '../../workers/reconcile-pages.ts'
import { createSnapshots } from '../records/create.ts'
import { CRAWL, SNAPSHOT } from '../records/kinds.ts'
import { changing, verbsOf } from '../records/verbs.ts'
import { terminal } from '../terminal.ts'

/** The verbs of `snapshot`. Its crawl goes on with the others. */
export const snapshotVerbs = {
  ...verbsOf(SNAPSHOT, (rows, narrowed) => ({ snapshots: rows.map(({ id }) => id), ...narrowed }), {
    remove: deleteSnapshot,
    shownBy: async (_home, rows) => ({ crawls: crawlsOf(rows), snapshots: [] }),
  }),
  create: createSnapshots,
  pause: changing(SNAPSHOT, { verb: 'pause', done: 'paused', send: ({ db }, ids) => pauseSnapshots(db, ids) }),
  resume: changing(SNAPSHOT, {
    verb: 'resume',
    done: 'queued again',
    send: ({ db }, ids) => resumeSnapshots(db, ids),
    after: sayPausedCrawls,
  }),
  cancel: changing(SNAPSHOT, { verb: 'cancel', done: 'sealed', send: cancelSnapshots, after: reconcilePagesOf }),
}

async function reconcilePagesOf(home: Home, rows: readonly ListedSnapshot[]): Promise<void> {
  await reconcilePages(
    home,
    crawlsOf(rows),
    rows.map(({ id }) => id),
  )
}

/** A page waits for its crawl. */
async function sayPausedCrawls(home: Home, rows: readonly ListedSnapshot[]): Promise<void> {
  const crawls = await listedByIds(home.db, CRAWL, crawlsOf(rows))
  for (const { id, status } of crawls)
    if (status === 'paused') terminal.say(`crawl ${id} is paused: crawl resume ${id} goes on with it`)
}

function crawlsOf(rows: readonly ListedSnapshot[]): string[] {
  return [...new Set(rows.map((row) => row.crawl_id))]
}
