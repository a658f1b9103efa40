import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { OutputFile, PublishedFiles } from '../db/tables.ts'
import { type CopiedTree, copyEntry, copyTree, flush, isFolder, listTree, markOf } from './copy-tree.ts'

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
    await this.tidyPublished()
  }

  /** The same for publications alone. */
  async tidyPublished(): Promise<void> {
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

  /** Is `.work` there, as somebody left it who has died? */
  get isLeft(): boolean {
    return existsSync(this.work)
  }

  /** Is there what a hook of this plugin made, or would have: in work, or published? */
  holds(plugin: string): boolean {
    return isFolder(join(this.work, plugin)) || this.isPublished(plugin)
  }

  /** Has a plugin published anything? */
  isPublished(plugin: string): boolean {
    return isFolder(join(this.root, plugin))
  }

  /** What a plugin has published. */
  published(plugin: string): PublishedFiles {
    return { written: Object.fromEntries(listTree(join(this.root, plugin))?.files ?? []), standing: {} }
  }

  /** The directory in which a plugin's hooks run. */
  dirFor(plugin: string): string {
    const dir = join(this.work, plugin)
    try {
      mkdirSync(dir)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') mkdirSync(dir, { recursive: true })
      else if (!isFolder(dir)) {
        rmSync(dir, { force: true }) // A link that a hook put there would lead the next one, and us, elsewhere.
        mkdirSync(dir)
      }
    }
    return dir
  }

  /**
   * Gives a plugin back what it has published, before its next hook starts: hooks of others may have changed their view
   * of it.
   */
  async restore(plugin: string): Promise<void> {
    const dir = this.dirFor(plugin)
    const marks = this.#marks.get(plugin)
    if (!marks) return
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
   * Puts the files of plugins in place: aside, flushed to disk, then renamed; an earlier version is replaced as a
   * whole. They are copies: a hook that is still to come, or a sibling that still runs, keeps writing in `.work`.
   * @param move nobody else was ever let into `.work`, nor will be: the files themselves go to their place
   * @returns what was published of each, or what keeps it from being
   */
  async publish<Plugin extends string>(
    plugins: readonly Plugin[],
    move = false,
  ): Promise<Map<Plugin, PublishedFiles | Error>> {
    const results = new Map<Plugin, PublishedFiles | Error>()
    const asides = new Map<Plugin, Aside>()
    await Promise.all(
      plugins.map(async (plugin) => {
        try {
          const aside = (move ? this.#asItIs(plugin) : undefined) ?? (await this.#copyAside(plugin))
          if (aside.files.size === 0) return results.set(plugin, NOTHING)
          await flush(pathsIn(aside))
          asides.set(plugin, aside)
        } catch (error) {
          results.set(plugin, error as Error)
        }
      }),
    )
    await failpoint('publish.files_aside')
    try {
      if (asides.size > 0) await this.#confirm()
    } catch (error) {
      for (const { dir } of asides.values()) rmSync(dir, { recursive: true, force: true })
      throw error
    }
    const olds: string[] = []
    for (const [plugin, { dir }] of asides) {
      const to = join(this.root, plugin)
      if (lstatSync(to, { throwIfNoEntry: false })) {
        const replaced = join(this.root, `.replaced-${plugin}`)
        renameSync(to, replaced)
        await failpoint('publish.files_replaced')
        olds.push(replaced)
      }
      renameSync(dir, to)
      await failpoint('publish.files_renamed')
    }
    if (asides.size > 0) await flush([this.root])
    await failpoint('publish.files_flushed')
    for (const old of olds) rmSync(old, { recursive: true, force: true })
    for (const [plugin, { files, marks }] of asides) {
      const before = this.#marks.get(plugin)
      this.#marks.set(plugin, marks)
      const isStanding = ([path]: [string, OutputFile]) => before?.get(path) === marks.get(path)
      const { written = [], standing = [] } = Object.groupBy(files, (file) =>
        isStanding(file) ? 'standing' : 'written',
      )
      results.set(plugin, { written: Object.fromEntries(written), standing: Object.fromEntries(standing) })
    }
    await failpoint('publish.files_tidied')
    return results
  }

  #asItIs(plugin: string): Aside | undefined {
    const dir = join(this.work, plugin)
    const listed = listTree(dir)
    return listed && { ...listed, dir }
  }

  async #copyAside(plugin: string): Promise<Aside> {
    const dir = join(this.root, `.publish-${plugin}`)
    if (existsSync(dir)) rmSync(dir, { recursive: true, force: true })
    try {
      const copied = await copyTree(this.root, `.work/${plugin}`, dir)
      if (copied.files.size === 0) rmSync(dir, { recursive: true, force: true })
      return { ...copied, dir }
    } catch (error) {
      rmSync(dir, { recursive: true, force: true })
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
    if (existsSync(this.work)) rmSync(this.work, { recursive: true, force: true })
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

/** A plugin's files, ready to be renamed into their place. */
interface Aside extends CopiedTree {
  readonly dir: string
}

/** What is to be flushed of it: its files and folders; links lie in these. */
function pathsIn({ dir, files, folders }: Aside): string[] {
  const own = [...files].filter(([, file]) => file.link === undefined).map(([path]) => path)
  return [...own, ...folders].map((path) => join(dir, path))
}

const NOTHING: PublishedFiles = { written: {}, standing: {} }

/** The folders that a path leads through, from the top down. */
function foldersOf(path: string): string[] {
  const steps = path.split('/')
  return steps.slice(1).map((_step, index) => steps.slice(0, index + 1).join('/'))
}
