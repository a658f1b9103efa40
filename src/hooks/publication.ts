import { existsSync, lstatSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Account } from '../base/account.ts'
import { WORK } from '../base/attempt-paths.ts'
import { elapsed } from '../base/elapsed.ts'
import { failpoint } from '../base/failpoint.ts'
import { flush } from '../base/flush.ts'
import { removeTree } from '../base/remove-tree.ts'
import { CONFIRMED_MS } from '../db/heartbeats.ts'
import { type CopiedTree, copyTree } from './copy-tree.ts'
import { takeListed } from './hand-over.ts'

/** Where the outputs of a page are published. */
export interface PublishedPage {
  /** The folder of the page. */
  readonly root: string
  /** Called right before files are renamed into place; throws when the page is no longer ours. */
  readonly confirm: () => Promise<void>
  /** The account that hooks run as, if not ours. */
  readonly account: Account | undefined
}

/** A plugin's files, written aside and ready to be renamed. */
interface Aside extends CopiedTree {
  readonly dir: string
}

/**
 * Publishes what plugins have in `.work`: writes it aside, flushes it, then renames it into place; an earlier version
 * is replaced as a whole. The page's own folder is flushed by whoever releases the page.
 * @param move takes the files themselves where they can be moved; else copies of them are published
 * @param flushed the plugins whose files in `.work` are on disk already
 * @returns for each plugin what was published, which may be nothing, or the error that prevented it
 */
export async function publish<Plugin extends string>(
  page: PublishedPage,
  plugins: readonly Plugin[],
  move: boolean,
  flushed: readonly Plugin[],
): Promise<Map<Plugin, CopiedTree | Error>> {
  const results = new Map<Plugin, CopiedTree | Error>()
  const asides = new Map<Plugin, Aside>()
  await Promise.all(
    plugins.map(async (plugin) => {
      try {
        const moved = move ? asItIs(page, plugin) : undefined
        const aside = moved ?? (await copyAside(page, plugin))
        results.set(plugin, aside)
        if (aside.files.size === 0) return
        if (!(moved && flushed.includes(plugin))) await flush(pathsIn(aside))
        asides.set(plugin, aside)
      } catch (error) {
        results.set(plugin, error as Error)
      }
    }),
  )
  await failpoint('publish.files_aside')
  await putInPlace(page, asides)
  return results
}

async function putInPlace(page: PublishedPage, asides: ReadonlyMap<string, Aside>): Promise<void> {
  const { root } = page
  const confirm = confirming(page, [...asides.values()])
  const olds: string[] = []
  for (const [plugin, { dir }] of asides) {
    const to = join(root, plugin)
    await confirm()
    if (lstatSync(to, { throwIfNoEntry: false })) {
      const replaced = join(root, `.replaced-${plugin}`)
      renameSync(to, replaced)
      await failpoint('publish.files_replaced')
      olds.push(replaced)
    }
    renameSync(dir, to)
    await failpoint('publish.files_renamed')
  }
  // Before an earlier version goes. Otherwise a flush at the end of the page does: lost work is repeated until then.
  if (olds.length > 0) await flush([root])
  for (const old of olds) removeTree(old)
}

/**
 * Confirms that the page is ours. Before each rename: if it was asked a moment ago, that holds; but after the answer
 * the machine may have been suspended. When the page is somebody else's, nothing stays aside.
 */
function confirming({ confirm }: PublishedPage, asides: readonly Aside[]): () => Promise<void> {
  let until = Number.NEGATIVE_INFINITY
  const ask = async () => {
    const askedAt = elapsed()
    await confirm()
    until = askedAt + CONFIRMED_MS
  }
  return async () => {
    try {
      // Twice, when the answer has come late.
      for (let times = 0; times < 2 && elapsed() >= until; times += 1) await ask()
    } catch (error) {
      for (const { dir } of asides) removeTree(dir)
      throw error
    }
  }
}

/** The folder itself, unless something is in it that cannot be moved. */
function asItIs({ root }: PublishedPage, plugin: string): Aside | undefined {
  const dir = join(root, WORK, plugin)
  const listed = takeListed(dir)
  return listed && { ...listed, dir }
}

async function copyAside({ root, account }: PublishedPage, plugin: string): Promise<Aside> {
  const dir = join(root, `.publish-${plugin}`)
  if (existsSync(dir)) removeTree(dir)
  try {
    const copied = await copyTree(root, `.work/${plugin}`, dir, account?.uid)
    if (copied.files.size === 0) removeTree(dir)
    return { ...copied, dir }
  } catch (error) {
    removeTree(dir)
    throw error
  }
}

/** The files and folders to flush; links are part of their folders. */
function pathsIn({ dir, files, folders }: Aside): string[] {
  const own = [...files].filter(([, file]) => file.link === undefined).map(([path]) => path)
  return [...own, ...folders].map((path) => join(dir, path))
}

/** Ends publications in this folder that a worker did not finish: an earlier version without a successor comes back. */
export async function reconcilePublications(root: string): Promise<void> {
  for (const name of existsSync(root) ? readdirSync(root) : []) {
    const path = join(root, name)
    if (name.startsWith('.publish-')) removeTree(path)
    if (!name.startsWith('.replaced-')) continue
    const original = join(root, name.slice('.replaced-'.length))
    if (existsSync(original)) removeTree(path)
    else {
      renameSync(path, original)
      await failpoint('publish.replaced_undone')
    }
  }
}
