import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AppError, codeOf } from '../base/errors.ts'
import { uuidv7 } from '../base/ids.ts'
import { randomBytes } from '../base/random.ts'

const FILE = '.server-secret'
const BYTES = 32

/**
 * A secret of the servers of a data dir: created once, readable by its owner only. Throws AppError for a damaged file.
 */
export function serverSecret(dataDir: string): Buffer {
  const path = join(dataDir, FILE)
  const known = read(path)
  if (known) return known
  // If several start at once, one creates it: a link exists or not.
  const draft = `${path}.${uuidv7()}`
  writeFileSync(draft, randomBytes(BYTES), { mode: 0o600, flush: true })
  try {
    linkSync(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return read(path)!
}

function read(path: string): Buffer | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  if (bytes.length === BYTES) return bytes
  throw new AppError(`${path} is damaged`, { hint: `remove it; open pages then reload` })
}
