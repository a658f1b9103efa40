import { cancelCrawls, pauseCrawls, resumeCrawls } from '../../machines/commands.ts'
import { deleteCrawl } from '../../machines/deletion.ts'
import { reconcilePages } from '../../workers/repair/reconcile-pages.ts'
import { createCrawls } from '../records/create.ts'
import { CRAWL } from '../records/kinds.ts'
import { changing, verbsOf } from '../records/verbs.ts'

/** The verbs of `crawl`. What is done to a crawl is done to its snapshots. */
export const crawlVerbs = {
  ...verbsOf(CRAWL, (rows, narrowed) => ({ crawls: rows.map(({ id }) => id), ...narrowed }), {
    remove: deleteCrawl,
    shownBy: async () => ({ crawls: [], snapshots: [] }),
  }),
  create: createCrawls,
  pause: changing(CRAWL, { verb: 'pause', done: 'paused', send: ({ db }, ids) => pauseCrawls(db, ids) }),
  resume: changing(CRAWL, { verb: 'resume', done: 'queued again', send: ({ db }, ids) => resumeCrawls(db, ids) }),
  cancel: changing(CRAWL, {
    verb: 'cancel',
    done: 'sealed',
    send: cancelCrawls,
    after: (home, rows) =>
      reconcilePages(
        home,
        rows.map(({ id }) => id),
      ),
  }),
}
