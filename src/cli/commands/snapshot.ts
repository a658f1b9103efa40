import { UsageError } from '../../base/errors.ts'
import type { Home } from '../../db/home.ts'
import { type ListedSnapshot, listedByIds } from '../../db/lists/listings.ts'
import { changeTags } from '../../db/tags.ts'
import { cancelSnapshots, pauseSnapshots, resumeSnapshots } from '../../machines/commands.ts'
import { deleteSnapshot } from '../../machines/deletion.ts'
import { reconcilePages } from '../../workers/repair/reconcile-pages.ts'
import { many } from '../format.ts'
import type { GlobalOptions } from '../options.ts'
import { printChanged, withChosen } from '../records/chosen.ts'
import { createSnapshots } from '../records/create.ts'
import { CRAWL, SNAPSHOT } from '../records/kinds.ts'
import { changing, verbsOf } from '../records/verbs.ts'
import { tagsIn } from '../tags.ts'
import { terminal } from '../terminal.ts'

/** The verbs of `snapshot`. Its crawl goes on with the others. */
export const snapshotVerbs = {
  ...verbsOf(SNAPSHOT, (rows, narrowed) => ({ snapshots: rows.map(({ id }) => id), ...narrowed }), {
    remove: deleteSnapshot,
    shownBy: async (_home, rows) => ({ crawls: crawlsOf(rows), snapshots: [] }),
  }),
  create: createSnapshots,
  tag: tagSnapshots,
  pause: changing(SNAPSHOT, { verb: 'pause', done: 'paused', send: ({ db }, ids) => pauseSnapshots(db, ids) }),
  resume: changing(SNAPSHOT, {
    verb: 'resume',
    done: 'queued again',
    send: ({ db }, ids) => resumeSnapshots(db, ids),
    after: sayPausedCrawls,
  }),
  cancel: changing(SNAPSHOT, { verb: 'cancel', done: 'sealed', send: cancelSnapshots, after: reconcilePagesOf }),
}

export interface TagOptions {
  readonly add?: string
  readonly remove?: string
}

/** `snapshot tag` */
async function tagSnapshots(options: GlobalOptions, args: readonly string[], verb: TagOptions): Promise<void> {
  const change = { add: tagsIn(verb.add), remove: tagsIn(verb.remove) }
  const both = change.add.find((tag) => change.remove.includes(tag))
  if (both !== undefined) throw new UsageError(`${both} cannot be added and removed at once`)
  if (change.add.length + change.remove.length === 0)
    throw new UsageError('no tag given', '--add NAMES adds tags, --remove NAMES takes them away')
  await withChosen(options, SNAPSHOT, args, async ({ home, rows, ids }) => {
    await changeTags(home.db, ids, change)
    await reconcilePagesOf(home, rows)
    const signs = [...change.add.map((tag) => `+${tag}`), ...change.remove.map((tag) => `-${tag}`)]
    terminal.say(`${signs.join(' ')}: ${many(ids.length, 'page')}`)
    await printChanged(options, home, SNAPSHOT, ids)
  })
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
