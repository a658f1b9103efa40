import { type Dirent, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Account } from '../base/account.ts'
import { codeOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { flush } from '../base/flush.ts'
import { removeAtOnce } from '../base/remove-at-once.ts'
import type { OutputFile, PublishedFiles } from '../db/tables.ts'
import { type CopiedTree, copyEntry, copyTree, isFolder, listTree, markOf } from './copy-tree.ts'
import { freeze, giveFolder, handOver, takeBack } from './hand-over.ts'

/**
 * Where hooks write, apart from what is published: `.work/<plugin>` beside `<plugin>`. Hooks see all earlier outputs
 * there as real files, so that `../<plugin>/...` works as in ArchiveBox; they are copies, so hooks cannot change what
 * is published. A plugin's directory appears under its own name only when its hook has succeeded: complete, flushed, by
 * one rename. A failed hook's files go to `.attempts`; an interrupted one's are deleted.
 */
export class WorkTree {
  readonly root: string
  readonly work: string
  readonly #confirm: () => Promise<void>
  readonly #account: Account | undefined
  /** How the files in `.work` looked when they matched what is published, by plugin and path. */
  readonly #marks = new Map<string, Map<string, string>>()
  /** Folders that a job of hooks makes when it writes into them. */
  readonly #places = new Set<string>()

  /**
   * @param confirm called right before files are renamed into place; throws when the page is no longer ours
   * @param account as whom hooks run, if not as we do: it gets what they write into, until that is published
   */
  constructor(root: string, confirm: () => Promise<void> = async () => {}, account?: Account) {
    this.root = root
    this.work = join(root, '.work')
    this.#confirm = confirm
    this.#account = account
  }

  /** Is there nothing but published files? */
  get isReconciled(): boolean {
    return !this.#entries().some(isLeft)
  }

  /** Removes what a worker that died, or lost the page, left unfinished. Published files stay. */
  async reconcile(): Promise<void> {
    this.close()
    await this.reconcilePublished()
  }

  /** The same, for publications only. */
  async reconcilePublished(): Promise<void> {
    for (const { name } of this.#entries()) {
      if (name.startsWith('.publish-')) rmSync(join(this.root, name), { recursive: true, force: true })
      if (name.startsWith('.replaced-')) await this.#undoReplace(name)
    }
  }

  /**
   * Starts with a copy of what is published, and nothing else.
   * @param without files of plugins that are left out, because the hooks that made them run again
   */
  async open(without: ReadonlyMap<string, readonly string[]> = new Map()): Promise<void> {
    let entries = this.#entries()
    if (entries.some(isLeft)) {
      await this.reconcile()
      entries = this.#entries()
    }
    this.#marks.clear()
    this.#places.clear()
    mkdirSync(this.work, { recursive: true })
    for (const entry of entries)
      if (entry.isDirectory() && !entry.name.startsWith('.')) await this.#show(entry.name, without.get(entry.name))
  }

  /** Does a `.work` of a dead worker exist? */
  get hasLeftovers(): boolean {
    return existsSync(this.work)
  }

  /** Has a plugin published anything? */
  isPublished(plugin: string): boolean {
    return isFolder(join(this.root, plugin))
  }

  /** Has a plugin left a file, published or not? Logs do not count. */
  hasFile(plugin: string): boolean {
    const isOutput = (name: string) => !name.startsWith('.') && !name.endsWith('.log')
    return [this.work, this.root].some((place) => {
      const folder = join(place, plugin)
      return isFolder(folder) && readdirSync(folder).some(isOutput)
    })
  }

  /** The files that a plugin has published. */
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
      else if (isFolder(dir)) return dir
      else {
        rmSync(dir, { force: true }) // A hook may have put a link there.
        mkdirSync(dir)
      }
    }
    giveFolder(dir, this.#account)
    return dir
  }

  /**
   * The directory for a plugin's hook in a job that nobody else looks into. Where nothing of the plugin is published,
   * it is made when something is written: folders of hooks that end without a file would cost as much as these.
   */
  async placeFor(plugin: string): Promise<string> {
    if (this.#marks.has(plugin)) return await this.restore(plugin)
    if (this.#account) return this.dirFor(plugin) // Above it, all is ours.
    this.#places.add(plugin)
    return join(this.work, plugin)
  }

  /** Makes the directories of the jobs so far: they tell others who ran. */
  makePlaces(): void {
    for (const plugin of this.#places) this.dirFor(plugin)
    this.#places.clear()
  }

  /**
   * Restores a plugin's published files before its next hook starts, since other hooks may have changed its copy.
   * @returns the directory in which it runs
   */
  async restore(plugin: string): Promise<string> {
    const dir = this.dirFor(plugin)
    const marks = this.#marks.get(plugin) ?? new Map<string, string>()
    if (marks.size > 0) freeze(dir)
    for (const [path, mark] of marks) {
      const published = join(this.root, plugin, path)
      const seen = join(dir, path)
      for (const folder of foldersOf(path)) if (!isFolder(join(dir, folder))) rmSync(join(dir, folder), { force: true })
      if (markOf(seen) === mark || markOf(published) === undefined) continue
      rmSync(seen, { recursive: true, force: true })
      await copyEntry(published, seen)
      handOver(seen, this.#account)
      marks.set(path, markOf(seen)!)
    }
    if (marks.size > 0) handOver(dir, this.#account)
    return dir
  }

  /**
   * Publishes the files of plugins: writes them aside, flushes them, then renames them into place; an earlier version
   * is replaced as a whole. Copies are published: later hooks, and siblings that still run, keep writing in `.work`.
   * The page's own folder is flushed by whoever gives the page away.
   * @param move no hook of a user ever had, or will have, access to `.work`: the files themselves are moved
   * @param flushed those of the plugins whose files in `.work` are on disk already
   * @returns for each plugin what was published, or the error that prevented it
   */
  async publish<Plugin extends string>(
    plugins: readonly Plugin[],
    move = false,
    flushed: readonly Plugin[] = [],
  ): Promise<Map<Plugin, PublishedFiles | Error>> {
    const results = new Map<Plugin, PublishedFiles | Error>()
    const asides = new Map<Plugin, Aside>()
    await Promise.all(
      plugins.map(async (plugin) => {
        try {
          const moved = move ? this.#asItIs(plugin) : undefined
          const aside = moved ?? (await this.#copyAside(plugin))
          if (aside.files.size === 0) return results.set(plugin, NOTHING)
          if (!(moved && flushed.includes(plugin))) await flush(pathsIn(aside))
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
    // Where nothing is removed, a flush at the end is early enough: what is lost until then is done again.
    if (olds.length > 0) await flush([this.root])
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
    await failpoint('publish.files_published')
    return results
  }

  #asItIs(plugin: string): Aside | undefined {
    const dir = join(this.work, plugin)
    freeze(dir)
    const listed = listTree(dir)
    takeBack(dir)
    return listed && { ...listed, dir }
  }

  async #copyAside(plugin: string): Promise<Aside> {
    const dir = join(this.root, `.publish-${plugin}`)
    if (existsSync(dir)) rmSync(dir, { recursive: true, force: true })
    try {
      const copied = await copyTree(this.root, `.work/${plugin}`, dir, this.#account?.uid)
      if (copied.files.size === 0) rmSync(dir, { recursive: true, force: true })
      return { ...copied, dir }
    } catch (error) {
      rmSync(dir, { recursive: true, force: true })
      throw error
    }
  }

  /**
   * Moves what a failed hook wrote to `.attempts`, where siblings do not see it and people can. What its plugin has
   * published stays visible; if that is nothing, an empty directory says that the hook was tried.
   */
  async setAside(plugin: string, attempt: string): Promise<void> {
    const from = join(this.work, plugin)
    if (!isFolder(from) || readdirSync(from).length === 0) return
    const to = join(this.root, '.attempts', attempt)
    mkdirSync(dirname(to), { recursive: true })
    rmSync(to, { recursive: true, force: true })
    renameSync(from, to)
    takeBack(to)
    await failpoint('publish.failed_set_aside')
    await this.#show(plugin)
    this.dirFor(plugin)
  }

  /** Deletes what a plugin's hooks wrote and have not published. */
  async discard(plugin: string): Promise<void> {
    freeze(join(this.work, plugin))
    rmSync(join(this.work, plugin), { recursive: true, force: true })
    await this.#show(plugin)
    this.dirFor(plugin)
  }

  /** Takes back what a plugin has published, if it has. */
  async withdraw(plugin: string): Promise<void> {
    if (!this.isPublished(plugin)) return
    await this.#confirm()
    freeze(join(this.work, plugin))
    for (const place of [this.root, this.work]) rmSync(join(place, plugin), { recursive: true, force: true })
    this.#marks.delete(plugin)
  }

  close(): void {
    freeze(this.work)
    takeBack(join(this.root, '.logs'))
    try {
      rmdirSync(this.work) // Most often nothing is left in it, and this is a quarter of the other's work.
    } catch (error) {
      // Who found only a part of it would take that for the whole of what hooks that have ended left.
      if (codeOf(error) !== 'ENOENT') removeAtOnce(this.work, join(this.root, '.publish-.work'))
    }
  }

  /** Has what is published outlast a power cut. The page may have been deleted meanwhile. */
  async keep(): Promise<void> {
    if (existsSync(this.root)) await flush([this.root])
  }

  /** What is in the folder of the page, if that exists. */
  #entries(): Dirent[] {
    return existsSync(this.root) ? readdirSync(this.root, { withFileTypes: true }) : []
  }

  /** Puts a copy of what a plugin has published into `.work`: it is the account's when all is in it. */
  async #show(plugin: string, without: readonly string[] = []): Promise<void> {
    const dir = join(this.work, plugin)
    freeze(dir)
    const { files } = await copyTree(this.root, plugin, dir)
    for (const path of without) if (files.delete(path)) rmSync(join(dir, path))
    handOver(dir, this.#account)
    this.#marks.set(plugin, new Map([...files.keys()].map((path) => [path, markOf(join(dir, path))!])))
  }

  /** Undoes a replacement that crashed between its two renames and left the old version under its temporary name. */
  async #undoReplace(name: string): Promise<void> {
    const original = join(this.root, name.slice('.replaced-'.length))
    if (existsSync(original)) rmSync(join(this.root, name), { recursive: true, force: true })
    else {
      renameSync(join(this.root, name), original)
      await failpoint('publish.replaced_undone')
    }
  }
}

/** Was it left by a worker that did not finish? */
const isLeft = ({ name }: Dirent) => /^\.(work$|publish-|replaced-)/.test(name)

/** A plugin's files, written aside and ready to be renamed. */
interface Aside extends CopiedTree {
  readonly dir: string
}

/** The files and folders to flush; links are part of their folders. */
function pathsIn({ dir, files, folders }: Aside): string[] {
  const own = [...files].filter(([, file]) => file.link === undefined).map(([path]) => path)
  return [...own, ...folders].map((path) => join(dir, path))
}

const NOTHING: PublishedFiles = { written: {}, standing: {} }

/** The folders along a path, from the top down. */
function foldersOf(path: string): string[] {
  const steps = path.split('/')
  return steps.slice(1).map((_step, index) => steps.slice(0, index + 1).join('/'))
}
