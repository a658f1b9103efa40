import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { WORK } from '../base/attempt-paths.ts'
import { withRights } from '../base/remove-tree.ts'
import type { OutputFile, PublishedFiles } from '../db/tables.ts'
import { type CopiedTree, copyEntry, copyTree, isFolder, markOf } from './copy-tree.ts'
import { freeze, giveNew, handOver } from './hand-over.ts'
import type { PublishedPage } from './publication.ts'

/** The copies in `.work` of what plugins have published, for later hooks. */
export class ShownFiles {
  readonly #page: PublishedPage
  /** The state of the files in `.work` when they matched what is published, by plugin and path. */
  readonly #marks = new Map<string, Map<string, string>>()

  constructor(page: PublishedPage) {
    this.#page = page
  }

  has(plugin: string): boolean {
    return this.#marks.has(plugin)
  }

  forget(plugins: Iterable<string> = [...this.#marks.keys()]): void {
    for (const plugin of plugins) this.#marks.delete(plugin)
  }

  /** Copies what a plugin has published: the folder is given to the account when everything is in it. */
  async show(plugin: string, without: readonly string[] = []): Promise<void> {
    const { root, account } = this.#page
    const dir = join(root, WORK, plugin)
    freeze(dir)
    const { files } = await copyTree(root, plugin, dir)
    for (const path of without) if (files.delete(path)) rmSync(join(dir, path))
    handOver(dir, account)
    this.#marks.set(plugin, new Map([...files.keys()].map((path) => [path, markOf(join(dir, path))!])))
  }

  /** Copies again what others have changed in the folder of a plugin. */
  async restore(plugin: string): Promise<void> {
    const { root, account } = this.#page
    const dir = join(root, WORK, plugin)
    const marks = this.#marks.get(plugin) ?? new Map<string, string>()
    if (marks.size > 0) freeze(dir)
    for (const [path, mark] of marks) {
      const published = join(root, plugin, path)
      const seen = join(dir, path)
      for (const folder of foldersOf(path)) if (!isFolder(join(dir, folder))) rmSync(join(dir, folder), { force: true })
      if (markOf(seen) === mark || markOf(published) === undefined) continue
      withRights(dir, () => rmSync(seen, { recursive: true, force: true }))
      await copyEntry(published, seen)
      giveNew(seen, account) // Before its mark, which a change of owner changes.
      marks.set(path, markOf(seen)!)
    }
    if (marks.size > 0) handOver(dir, account)
  }

  /** Counts what was just published from a plugin's folder as shown. @returns what was written since */
  nowShows(plugin: string, { files, marks }: CopiedTree): PublishedFiles {
    const before = this.#marks.get(plugin)
    if (files.size > 0) this.#marks.set(plugin, marks)
    const isStanding = ([path]: [string, OutputFile]) => before?.get(path) === marks.get(path)
    const { written = [], standing = [] } = Object.groupBy(files, (file) => (isStanding(file) ? 'standing' : 'written'))
    return { written: Object.fromEntries(written), standing: Object.fromEntries(standing) }
  }
}

/** The folders along a path, from the top down. */
function foldersOf(path: string): string[] {
  const steps = path.split('/')
  return steps.slice(1).map((_step, index) => steps.slice(0, index + 1).join('/'))
}
