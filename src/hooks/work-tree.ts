import {
  type Dirent,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Account } from '../base/account.ts'
import { WORK } from '../base/attempt-paths.ts'
import { codeOf } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { flush } from '../base/flush.ts'
import { isUuid } from '../base/ids.ts'
import { removeAtOnce, removeTree, withRights } from '../base/remove-tree.ts'
import type { OutputFile, PublishedFiles } from '../db/tables.ts'
import { isFolder, listTree } from './copy-tree.ts'
import { freeze, giveNew, takeBack } from './hand-over.ts'
import { type PublishedPage, publish, reconcilePublications } from './publication.ts'
import { ShownFiles } from './shown-files.ts'

/** In `.work`: the data dir, and the process of it that is at work there. */
const OWNER = '.owner'

/** A process that works for a data dir. */
interface Worker {
  readonly processId: string
  readonly home: { readonly dataDirId: string }
}

/**
 * Where hooks write, apart from what is published: `.work/<plugin>` beside `<plugin>`. Hooks see all earlier outputs
 * there as real files, so that `../<plugin>/...` works as in ArchiveBox; they are copies, so hooks cannot change what
 * is published. A plugin's directory appears under its own name only when its hook has succeeded: complete, flushed, by
 * one rename. A failed hook's files go to `.attempts`; an interrupted one's are deleted.
 */
export class WorkTree {
  readonly root: string
  readonly work: string
  readonly #page: PublishedPage
  readonly #shown: ShownFiles
  /** What has been published here, by plugin: a page asks for it again. */
  readonly #published = new Map<string, ReadonlyMap<string, OutputFile>>()
  /** Folders that a job of hooks creates when it writes into them. */
  readonly #places = new Set<string>()

  /**
   * @param confirm called right before files are renamed into place; throws when the page is no longer ours
   * @param account hooks run as this account, if not as ours: it gets the folders that they write to, until publication
   */
  constructor(root: string, confirm: () => Promise<void> = async () => {}, account?: Account) {
    this.root = root
    this.work = join(root, WORK)
    this.#page = { root, confirm, account }
    this.#shown = new ShownFiles(this.#page)
  }

  /** Whether there are only published files. */
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
    await reconcilePublications(this.root)
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
    this.#shown.forget()
    this.#places.clear()
    mkdirSync(this.work, { recursive: true })
    for (const entry of entries)
      if (entry.isDirectory() && !entry.name.startsWith('.'))
        await this.#shown.show(entry.name, without.get(entry.name))
  }

  /** Notes in the open work tree which process is at work in it; hooks that run as another account cannot. */
  sign({ home, processId }: Worker): void {
    writeFileSync(join(this.work, OWNER), `${home.dataDirId} ${processId}`)
  }

  /** The process of our data dir that was at work here, if it has noted that. A copied folder names another's. */
  signedFor({ home }: Pick<Worker, 'home'>): string | undefined {
    const file = join(this.work, OWNER)
    const [dataDir, by = ''] = existsSync(file) ? readFileSync(file, 'utf8').split(' ') : []
    return dataDir === home.dataDirId && isUuid(by) ? by : undefined
  }

  /** Removes its note when a process leaves an open work tree, with nothing of it at work there. */
  unsign(worker: Worker): void {
    if (this.signedFor(worker) === worker.processId) rmSync(join(this.work, OWNER), { force: true })
  }

  /** Whether a hook has been at work for the page. Its index alone may come before. */
  get isBegun(): boolean {
    return this.#entries().some((entry) => entry.isDirectory())
  }

  /** Whether there is a `.work` of a dead worker. */
  get hasLeftovers(): boolean {
    return existsSync(this.work)
  }

  /** Whether a plugin has published anything. */
  isPublished(plugin: string): boolean {
    return isFolder(join(this.root, plugin))
  }

  /** Whether a plugin has left a file, published or not. Logs do not count. */
  hasFile(plugin: string): boolean {
    const isOutput = (name: string) => !name.startsWith('.') && !name.endsWith('.log')
    return [this.work, this.root].some((place) => {
      const folder = join(place, plugin)
      return isFolder(folder) && withRights(folder, () => readdirSync(folder)).some(isOutput)
    })
  }

  /** The files that a plugin has published. */
  published(plugin: string): PublishedFiles {
    return { written: Object.fromEntries(this.filesOf(plugin) ?? []), standing: {} }
  }

  /** The same, by their paths in its folder. Undefined: there is something else, too, such as links. */
  filesOf(plugin: string): ReadonlyMap<string, OutputFile> | undefined {
    const files = this.#published.get(plugin) ?? listTree(join(this.root, plugin))?.files
    return [...(files?.values() ?? [])].some(({ link }) => link !== undefined) ? undefined : files
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
    giveNew(dir, this.#page.account)
    return dir
  }

  /**
   * The directory for a plugin's hook in a job that nobody else looks into. If nothing of the plugin is published, it
   * is created only when something is written: folders for hooks that end without a file would cost as much as real
   * ones.
   */
  async placeFor(plugin: string): Promise<string> {
    if (this.#shown.has(plugin)) return await this.restore(plugin)
    if (this.#page.account) return this.dirFor(plugin) // Everything above it is ours.
    this.#places.add(plugin)
    return join(this.work, plugin)
  }

  /** Creates the directories of the jobs so far: they tell others which hooks ran. */
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
    await this.#shown.restore(plugin)
    return dir
  }

  /**
   * Publishes the files of plugins, usually copies: later hooks, and siblings that still run, go on in `.work`.
   * @param move no user's hook ever had, or will have, access to `.work`: the files themselves may be moved
   * @param flushed the plugins whose files in `.work` are on disk already
   * @returns for each plugin what was published, or the error that prevented it
   */
  async publish<Plugin extends string>(
    plugins: readonly Plugin[],
    move = false,
    flushed: readonly Plugin[] = [],
  ): Promise<Map<Plugin, PublishedFiles | Error>> {
    const results = new Map<Plugin, PublishedFiles | Error>()
    for (const plugin of plugins) this.#published.delete(plugin)
    for (const [plugin, made] of await publish(this.#page, plugins, move, flushed)) {
      results.set(plugin, made instanceof Error ? made : this.#shown.nowShows(plugin, made))
      if (!(made instanceof Error) && made.files.size > 0) this.#published.set(plugin, made.files)
    }
    await failpoint('publish.files_published')
    return results
  }

  /**
   * Moves the files of a failed hook to `.attempts`, hidden from siblings but not from users. What its plugin has
   * published stays visible; if that is nothing, an empty directory shows that the hook was tried.
   */
  async setAside(plugin: string, attempt: string): Promise<void> {
    const from = join(this.work, plugin)
    if (!isFolder(from) || withRights(from, () => readdirSync(from)).length === 0) return
    const to = join(this.root, '.attempts', attempt)
    mkdirSync(dirname(to), { recursive: true })
    removeTree(to)
    withRights(from, () => renameSync(from, to))
    takeBack(to)
    await failpoint('publish.failed_set_aside')
    await this.#shown.show(plugin)
    this.dirFor(plugin)
  }

  /** Deletes files of a plugin's hooks that they have not published. */
  async discard(plugin: string): Promise<void> {
    freeze(join(this.work, plugin))
    removeTree(join(this.work, plugin))
    await this.#shown.show(plugin)
    this.dirFor(plugin)
  }

  /** Withdraws what a plugin has published, if anything. */
  async withdraw(plugin: string): Promise<void> {
    if (!this.isPublished(plugin)) return
    await this.#page.confirm()
    freeze(join(this.work, plugin))
    for (const place of [this.root, this.work]) removeTree(join(place, plugin))
    this.#shown.forget([plugin])
    this.#published.delete(plugin)
  }

  close(): void {
    takeBack(join(this.root, '.logs'))
    if (removeEmpty(this.work)) return
    freeze(this.work)
    // In one step: a part of it would be taken for everything that ended hooks have left.
    removeAtOnce(this.work, join(this.root, '.publish-.work'))
  }

  /** Makes what is published outlast a power cut. The page may have been deleted meanwhile. */
  async keep(): Promise<void> {
    if (existsSync(this.root)) await flush([this.root])
  }

  /** The content of the page's folder, if it exists. */
  #entries(): Dirent[] {
    return existsSync(this.root) ? readdirSync(this.root, { withFileTypes: true }) : []
  }
}

/** Whether a worker that did not finish has left it. */
const isLeft = ({ name }: Dirent) => /^\.(work$|publish-|replaced-)/.test(name)

/**
 * Removes a folder that has nothing but empty folders, as usual after a page: this takes a quarter of the time.
 * @returns whether it is gone
 */
function removeEmpty(folder: string): boolean {
  try {
    for (const name of existsSync(folder) ? readdirSync(folder) : []) rmdirSync(join(folder, name))
    rmdirSync(folder)
    return true
  } catch (error) {
    return codeOf(error) === 'ENOENT'
  }
}
