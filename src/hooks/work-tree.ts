import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import type { PublishedFiles } from '../db/tables.ts'
import { copyEntry, copyTree, flush, isFolder, markOf } from './copy-tree.ts'

/**
 * Where hooks write, aside from what is published: `.work/<plugin>` beside `<plugin>`. Hooks see all earlier outputs
 * there as real files, so that `../<plugin>/...` works as in ArchiveBox; they are copies, so that nothing that is
 * published changes whatever hooks do with them. A plugin's directory appears under its own name only when its hook has
 * succeeded, complete and flushed, by one rename; a failed hook's files go to `.attempts`, and an interrupted one's
 * vanish.
 */
export class WorkTree {
  readonly root: string
  readonly work: string
  readonly #confirm: () => Promise<void>
  /** How the files in `.work` looked when they were the same as what is published, by plugin and path. */
  readonly #marks = new Map<string, Map<string, string>>()

  /** @param confirm called right before files go to their places; it throws when they are somebody else's by now */
  constructor(root: string, confirm: () => Promise<void> = async () => {}) {
    this.root = root
    this.work = join(root, '.work')
    this.#confirm = confirm
  }

  /** Is there nothing but what was published? */
  get isTidy(): boolean {
    return !existsSync(this.root) || !readdirSync(this.root).some((name) => /^\.(work$|publish-|replaced-)/.test(name))
  }

  /** Takes away what a worker that died, or lost the page, left half-written: what is published stays. */
  async tidy(): Promise<void> {
    this.close()
    for (const name of existsSync(this.root) ? readdirSync(this.root) : []) {
      if (name.startsWith('.publish-')) rmSync(join(this.root, name), { recursive: true, force: true })
      if (name.startsWith('.replaced-')) await this.#undoReplace(name)
    }
  }

  /** Starts clean, with what is published. */
  async open(): Promise<void> {
    await this.tidy()
    mkdirSync(this.work, { recursive: true })
    this.#marks.clear()
    for (const entry of readdirSync(this.root, { withFileTypes: true }))
      if (entry.isDirectory() && !entry.name.startsWith('.')) await this.#show(entry.name)
  }

  /** The directory in which a plugin's hooks run. */
  dirFor(plugin: string): string {
    const dir = join(this.work, plugin)
    if (!isFolder(dir)) {
      rmSync(dir, { force: true }) // A link that a hook put there would lead the next one, and us, elsewhere.
      mkdirSync(dir, { recursive: true })
    }
    return dir
  }

  /**
   * Gives a plugin back what it has published, before its next hook starts: hooks of others may have changed their view
   * of it.
   */
  async restore(plugin: string): Promise<void> {
    const dir = this.dirFor(plugin)
    const marks = this.#marks.get(plugin) ?? new Map<string, string>()
    for (const [path, mark] of marks) {
      const published = join(this.root, plugin, path)
      const seen = join(dir, path)
      for (const folder of foldersOf(path)) if (!isFolder(join(dir, folder))) rmSync(join(dir, folder), { force: true })
      if (markOf(seen) === mark || markOf(published) === undefined) continue
      rmSync(seen, { recursive: true, force: true })
      await copyEntry(published, seen)
      marks.set(path, markOf(seen)!)
    }
  }

  /**
   * Puts a plugin's files in place: aside, flushed to disk, then renamed; an earlier version is replaced as a whole.
   * They are copies: a hook that is still to come, or a sibling that still runs, keeps writing in `.work`.
   */
  async publish(plugin: string): Promise<PublishedFiles> {
    const to = join(this.root, plugin)
    const aside = join(this.root, `.publish-${plugin}`)
    rmSync(aside, { recursive: true, force: true })
    const { files, marks } = await this.#copyAside(plugin, aside)
    if (files.size === 0) {
      rmSync(aside, { recursive: true, force: true })
      return { written: {}, standing: {} }
    }
    const replaced = join(this.root, `.replaced-${plugin}`)
    if (lstatSync(to, { throwIfNoEntry: false })) {
      renameSync(to, replaced)
      await failpoint('publish.files_replaced')
    }
    renameSync(aside, to)
    await failpoint('publish.files_renamed')
    flush(this.root)
    await failpoint('publish.files_flushed')
    rmSync(replaced, { recursive: true, force: true })
    await failpoint('publish.files_tidied')
    const before = this.#marks.get(plugin)
    this.#marks.set(plugin, marks)
    const isStanding = (path: string) => before?.get(path) === marks.get(path)
    return {
      written: Object.fromEntries([...files].filter(([path]) => !isStanding(path))),
      standing: Object.fromEntries([...files].filter(([path]) => isStanding(path))),
    }
  }

  async #copyAside(plugin: string, aside: string): ReturnType<typeof copyTree> {
    try {
      const copied = await copyTree(this.root, `.work/${plugin}`, aside, true)
      await failpoint('publish.files_aside')
      if (copied.files.size > 0) await this.#confirm()
      return copied
    } catch (error) {
      rmSync(aside, { recursive: true, force: true })
      throw error
    }
  }

  /**
   * Moves what a failed hook wrote out of its siblings' sight; kept for whoever looks into it. What its plugin has
   * published stays in sight; without that an empty directory tells that it was tried.
   */
  async setAside(plugin: string, attempt: string): Promise<void> {
    const from = join(this.work, plugin)
    if (!isFolder(from) || readdirSync(from).length === 0) return
    const to = join(this.root, '.attempts', attempt)
    mkdirSync(dirname(to), { recursive: true })
    rmSync(to, { recursive: true, force: true })
    renameSync(from, to)
    await failpoint('publish.failed_set_aside')
    mkdirSync(from)
    await this.#show(plugin)
  }

  close(): void {
    rmSync(this.work, { recursive: true, force: true })
  }

  /** Lets hooks see what a plugin has published. */
  async #show(plugin: string): Promise<void> {
    const dir = join(this.work, plugin)
    const { files } = await copyTree(this.root, plugin, dir)
    this.#marks.set(plugin, new Map([...files.keys()].map((path) => [path, markOf(join(dir, path))!])))
  }

  /** A crash between the two renames of a replacement left the old version under its temporary name. */
  async #undoReplace(name: string): Promise<void> {
    const original = join(this.root, name.slice('.replaced-'.length))
    if (existsSync(original)) rmSync(join(this.root, name), { recursive: true, force: true })
    else {
      renameSync(join(this.root, name), original)
      await failpoint('publish.replaced_undone')
    }
  }
}

/** The folders that a path leads through, from the top down. */
function foldersOf(path: string): string[] {
  const steps = path.split('/')
  return steps.slice(1).map((_step, index) => steps.slice(0, index + 1).join('/'))
}
