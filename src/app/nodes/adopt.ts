import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, UsageError } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { meaningsIn } from '../../db/meanings.ts'
import { adoptJobs, adoptPages, deleteNode, leftOn } from '../../db/node-pages.ts'
import { type RecordedPage, recordedPage } from '../../db/recorded-files.ts'
import { report } from '../../runner/node-report.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'
import type { Problem } from '../verify/check-page.ts'
import { CheckPool } from '../verify/check-pool.ts'
import { eachBatch } from './each-batch.ts'
import { findNode, refuseAlive } from './find-node.ts'
import type { NodeProgress } from './forget.ts'

/** A page whose files are not here as they were there: it stays the other node's. */
export interface NotAdopted {
  readonly page: Pick<RecordedPage, 'id' | 'url'>
  readonly problems: readonly Problem[]
}

export interface Adopted {
  readonly name: string
  readonly pages: number
  readonly left: number
  /** Nothing is left of the other node: its row is gone. */
  readonly isWhole: boolean
}

/**
 * Takes over the pages of another node, whose data dir was copied into this one: each page whose files are all here, as
 * they are recorded and by their hashes. What is done stays done if this is killed, and the next call continues. Throws
 * UsageError for a node that is not there, or ours; AppError for one that works.
 * @param onLeft is told of each page that stays
 */
export async function adopt(
  { home, settings }: Pick<Archive, 'home' | 'settings'>,
  { which, onLeft }: { readonly which: string; readonly onLeft: (left: NotAdopted) => void },
  { signal, tell }: Call<NodeProgress> = {},
): Promise<Adopted> {
  const { id, name } = await findNode(home.db, which)
  if (id === home.dataDirId)
    throw new UsageError(`${name} is the node of this data dir`, 'copy a data dir, and run this in the copy')
  const refuse = async () => refuseAlive(await findNode(home.db, id), settings.config.NODE_LOST_SECONDS)
  await refuse()
  if ((await leftOn(home.db, id)).pages > 0 && !existsSync(join(home.dataDir, 'archive/snapshots')))
    throw new AppError(`there is no page in ${home.dataDir}`, {
      hint: `copy that data dir first: rsync -a ${name}:.../archive/ ${home.dataDir}/archive/`,
    })
  await report(home) // What is adopted must have a home.
  const over = new AbortController()
  const pool = new CheckPool(home.dataDir, false, over.signal)
  const sum = { pages: 0, left: 0 }
  try {
    await eachBatch(home.db, id, signal, async (ids) => {
      const meanings = await meaningsIn(home.db)
      const found = await Promise.all(ids.map((page) => recordedPage({ ...home, dataDirId: id }, meanings, page)))
      const pages = found.filter((page) => page !== undefined)
      const share = Math.ceil(pages.length / pool.size)
      const shares = Array.from({ length: pool.size }, (_, at) => pages.slice(at * share, (at + 1) * share))
      const checked = (await Promise.all(shares.map((each) => pool.check(each)))).flat()
      const isHere = checked.filter(({ problems }) => !problems.some(isLack))
      await refuse()
      sum.pages += await adoptPages(
        home,
        id,
        isHere.map((page) => page.id),
      )
      await failpoint('adopt.batch_taken')
      for (const [index, { problems }] of checked.entries()) {
        const lacks = problems.filter(isLack)
        if (lacks.length === 0) continue
        sum.left += 1
        onLeft({ page: pages[index]!, problems: lacks })
      }
      tell?.({ event: 'node pages', done: sum.pages + sum.left })
    })
  } finally {
    over.abort()
    await pool.close()
  }
  await adoptJobs(home, id)
  const isWhole = sum.left === 0 && (await deleteNode(home.db, id))
  return { name, ...sum, isWhole }
}

/** A file that nobody recorded, or a page that can be written anew, keeps no page from coming here. */
const isLack = ({ problem }: Problem): boolean => ['missing', 'changed', 'unreadable'].includes(problem)
