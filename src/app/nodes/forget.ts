import { oneLine } from '../../base/clean.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { deleteNode, forgetFiles, type LeftThere, leftOn } from '../../db/node-pages.ts'
import type { Archive } from '../archive.ts'
import type { Call } from '../call.ts'
import { eachBatch } from './each-batch.ts'
import { findNode, refuseAlive } from './find-node.ts'

/** So many pages of a node are done. */
export interface NodeProgress {
  readonly event: 'node pages'
  readonly done: number
}

/** A node that can be forgotten, with what is lost then. */
export interface Forgettable extends LeftThere {
  readonly id: string
  readonly name: string
}

/**
 * What would be lost with a node. Throws UsageError for one that is not there, and for our own; AppError for one that
 * works.
 */
export async function forgettable(
  { home, settings }: Pick<Archive, 'home' | 'settings'>,
  which: string,
): Promise<Forgettable> {
  const node = await findNode(home.db, which)
  if (node.id === home.dataDirId)
    throw new UsageError(`${node.name} is the node of this data dir`, 'forget it from another one')
  refuseAlive(node, settings.config.NODE_LOST_SECONDS)
  return { id: node.id, name: node.name, ...(await leftOn(home.db, node.id)) }
}

/**
 * Forgets a node whose disk is gone: its pages fail for want of their files, the removals that it was asked for end,
 * and its row goes. What is done stays done if this is killed, and the next call continues.
 * @returns how many pages
 */
export async function forget(
  { home, settings }: Pick<Archive, 'home' | 'settings'>,
  { id, name }: Forgettable,
  { signal, tell }: Call<NodeProgress> = {},
): Promise<number> {
  const cause = oneLine(`its files were on node ${name}, which was forgotten`)
  let done = 0
  await eachBatch(home.db, id, signal, async (ids) => {
    refuseAlive(await findNode(home.db, id), settings.config.NODE_LOST_SECONDS) // It may have come back.
    done += await forgetFiles(home.db, id, ids, cause)
    tell?.({ event: 'node pages', done })
  })
  if (!(await deleteNode(home.db, id)))
    throw new AppError(`node ${name} has new pages: it is alive again`, { hint: 'archivebox-ts node list' })
  return done
}
