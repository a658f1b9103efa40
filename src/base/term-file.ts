import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, codeOf } from './errors.ts'
import { replaceFile } from './replace-file.ts'

const TERM_FILE = '.archivebox-term'

/**
 * The highest term that a data dir has led with; 0: none. A database may be restored to an older state, and would count
 * again what is over. The file of a copy names the original, and counts for nothing. Throws AppError.
 */
export function knownTerm(dataDir: string, dataDirId: string): number {
  const path = join(dataDir, TERM_FILE)
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0
    throw error
  }
  const [, id, term] = /^([0-9a-f-]{36}) (\d{1,15})\n$/.exec(text) ?? []
  if (id === undefined)
    throw new AppError(`${path} does not name a term`, {
      hint: 'if the database was never restored to an older state, remove the file: it is written again',
    })
  return id === dataDirId ? Number(term) : 0
}

/**
 * Writes down, before it is led with, that this term is the highest. A full disk keeps nobody from leading: the file
 * says less then, and the database still counts on.
 */
export function noteTerm(dataDir: string, dataDirId: string, term: number): void {
  try {
    replaceFile(join(dataDir, TERM_FILE), `${dataDirId} ${term}\n`)
  } catch (error) {
    if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '')) throw error
  }
}
