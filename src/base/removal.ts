import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AppError, codeOf } from './errors.ts'
import { removeLargeTree } from './remove-tree.ts'

/** Where files wait to be removed; on the file system of the archive, so that one rename moves them there. */
const FOLDER = 'archive/.deleted'

/**
 * The files of one deletion: first moved aside, out of sight, under their paths below the data dir; then put back or
 * removed. Symbolic links are moved and removed themselves, never followed.
 */
export class Removal {
  /** The name of the row that owns these files. */
  readonly name: string
  readonly #dataDir: string
  readonly #moved: string[] = []

  /** @param name valid for a folder, and unique to what is deleted */
  constructor(dataDir: string, name: string) {
    this.#dataDir = dataDir
    this.name = name
  }

  /** The removals that were begun but not finished. */
  static begun(dataDir: string): Removal[] {
    const folder = join(dataDir, FOLDER)
    return existsSync(folder) ? readdirSync(folder).map((name) => new Removal(dataDir, name)) : []
  }

  /**
   * Moves a file or folder aside; a missing one is skipped. Throws AppError when the path leads through a symbolic link
   * or out of the archive.
   * @param path below the data dir, inside `archive`
   */
  moveAside(path: string): void {
    const steps = path.split('/')
    if (steps[0] !== 'archive' || steps.length < 3 || steps.some((step) => ['', '.', '..', '.deleted'].includes(step)))
      throw new AppError(`not a path of the archive, so nothing is deleted: ${path}`)
    if (!this.#isReal(dirname(path)) || !lstatSync(join(this.#dataDir, path), { throwIfNoEntry: false })) return
    this.#isReal(`${FOLDER}/${this.name}`)
    const aside = join(this.#dataDir, FOLDER, this.name, path)
    mkdirSync(dirname(aside), { recursive: true })
    renameSync(join(this.#dataDir, path), aside)
    this.#moved.push(path)
  }

  /** Puts everything back, except where a new file or folder exists. */
  async putBack(): Promise<void> {
    this.#merge('')
    await this.#forget()
  }

  /** Removes what was moved aside, and the folders that it leaves empty. */
  async remove(): Promise<void> {
    await this.#forget()
    for (const path of this.#moved) this.#removeEmpty(dirname(path))
  }

  /** Does this folder exist, without a symbolic link on the way? Throws AppError when there is one. */
  #isReal(path: string): boolean {
    const steps = path.split('/')
    return steps.every((_step, index) => {
      const part = steps.slice(0, index + 1).join('/')
      const stats = lstatSync(join(this.#dataDir, part), { throwIfNoEntry: false })
      if (stats?.isSymbolicLink())
        throw new AppError(`${part} is a symbolic link: nothing behind it is deleted`, {
          hint: 'remove the link, or delete the files by hand',
        })
      return stats?.isDirectory() ?? false
    })
  }

  #merge(path: string): void {
    const from = join(this.#dataDir, FOLDER, this.name, path)
    const to = join(this.#dataDir, path)
    if (!lstatSync(to, { throwIfNoEntry: false })) renameSync(from, to)
    else if (lstatSync(from).isDirectory() && lstatSync(to).isDirectory())
      for (const name of readdirSync(from)) this.#merge(join(path, name))
  }

  async #forget(): Promise<void> {
    await removeLargeTree(join(this.#dataDir, FOLDER, this.name))
    this.#removeEmpty(FOLDER)
  }

  /** Removes empty folders from this one up; `archive/...` itself stays. */
  #removeEmpty(path: string): void {
    for (let folder = path; folder.split('/').length > 2 || folder === FOLDER; folder = dirname(folder)) {
      try {
        rmdirSync(join(this.#dataDir, folder))
      } catch (error) {
        if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes(codeOf(error) ?? '')) return
        throw error
      }
    }
  }
}
