import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { failpoint } from '../base/failpoint.ts'
import { mimeOf } from '../base/mime.ts'
import type { OutputFile } from '../db/tables.ts'

const MAX_FILES = 100_000

/**
 * Where hooks write, aside from what is published: `.work/<plugin>` beside `<plugin>`. Hooks see all earlier outputs there as real files
 * (hard links), so that `../<plugin>/...` works as in ArchiveBox. A plugin's directory appears under its own name only when its hook has
 * succeeded, complete and flushed, by one rename; a failed hook's files go to `.attempts`, and an interrupted one's vanish.
 */
export class WorkTree {
  readonly root: string
  readonly work: string
  readonly #confirm: () => Promise<void>

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
    for (const entry of readdirSync(this.root, { withFileTypes: true })) {
      if (entry.isDirectory() && !entry.name.startsWith('.'))
        copyTree(join(this.root, entry.name), join(this.work, entry.name), copyFileSync)
    }
  }

  /** The directory in which a plugin's hooks run. */
  dirFor(plugin: string): string {
    const dir = join(this.work, plugin)
    mkdirSync(dir, { recursive: true })
    return dir
  }

  /**
   * Puts a plugin's files in place: aside, flushed to disk, then renamed; an earlier version is replaced as a whole.
   * @param last no other hook will write in this directory, so its files can be linked instead of copied
   * @returns the files by their path below the plugin's directory
   */
  async publish(plugin: string, last: boolean): Promise<Record<string, OutputFile>> {
    const from = join(this.work, plugin)
    const to = join(this.root, plugin)
    const aside = join(this.root, `.publish-${plugin}`)
    rmSync(aside, { recursive: true, force: true })
    let files: Record<string, OutputFile> = {}
    try {
      files = copyTree(from, aside, last ? linkOrCopy : copyFileSync, true)
      await failpoint('publish.files_aside')
      if (Object.keys(files).length > 0) await this.#confirm()
    } catch (error) {
      rmSync(aside, { recursive: true, force: true })
      throw error
    }
    if (Object.keys(files).length === 0) {
      rmSync(aside, { recursive: true, force: true })
      return files
    }
    const replaced = join(this.root, `.replaced-${plugin}`)
    if (existsSync(to)) {
      renameSync(to, replaced)
      await failpoint('publish.files_replaced')
    }
    renameSync(aside, to)
    await failpoint('publish.files_renamed')
    flush(this.root)
    await failpoint('publish.files_flushed')
    rmSync(replaced, { recursive: true, force: true })
    await failpoint('publish.files_tidied')
    return files
  }

  /**
   * Moves what a failed hook wrote out of its siblings' sight; kept for whoever looks into it. What its plugin has published stays in sight;
   * without that an empty directory tells that it was tried.
   */
  async setAside(plugin: string, attempt: string): Promise<void> {
    const from = join(this.work, plugin)
    if (!existsSync(from) || readdirSync(from).length === 0) return
    const to = join(this.root, '.attempts', attempt)
    mkdirSync(dirname(to), { recursive: true })
    rmSync(to, { recursive: true, force: true })
    renameSync(from, to)
    await failpoint('publish.failed_set_aside')
    mkdirSync(from)
    copyTree(join(this.root, plugin), from, copyFileSync)
  }

  close(): void {
    rmSync(this.work, { recursive: true, force: true })
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

/** Copies regular files (never links, sockets or devices: an output cannot point outside) and lists them. */
function copyTree(from: string, to: string, copy: (from: string, to: string) => void, durable = false): Record<string, OutputFile> {
  const files: Record<string, OutputFile> = {}
  let count = 0
  const walk = (below: string) => {
    mkdirSync(join(to, below), { recursive: true })
    for (const name of readdirSync(join(from, below))) {
      const path = below ? `${below}/${name}` : name
      const stats: Stats = lstatSync(join(from, path))
      if (stats.isDirectory()) walk(path)
      if (!stats.isFile()) continue
      count += 1
      if (count > MAX_FILES) throw new Error(`more than ${MAX_FILES} output files`)
      copy(join(from, path), join(to, path))
      if (durable) flush(join(to, path))
      files[path] = { size: stats.size, mimetype: mimeOf(name) }
    }
    if (durable) flush(join(to, below))
  }
  if (existsSync(from)) walk('')
  return files
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to) // A file system without hard links.
  }
}

function flush(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
