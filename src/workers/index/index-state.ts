import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ChangeCursor } from '../../db/archived-pages.ts'
import { publishFile } from './publish-file.ts'

/** The folder of the index in the data dir. */
export const INDEX_FOLDER = 'archive/index'

/** How far the index has got: stored beside the chunks. */
export interface IndexState {
  /** The server whose transactions the cursor counts. */
  readonly server: string | null
  readonly cursor: ChangeCursor | null
  /** The number of pages in each chunk. */
  readonly chunks: Readonly<Record<string, number>>
  /** SHA-256 of the URLs whose lists of copies are yet to be written: the cursor has passed them. */
  readonly copied?: readonly string[]
}

export async function writeState(dataDir: string, state: IndexState): Promise<void> {
  await publishFile(statePath(dataDir), `${JSON.stringify(state)}\n`)
}

const statePath = (dataDir: string) => join(dataDir, INDEX_FOLDER, 'state.json')

/** Returns an empty state when a chunk is missing or damaged, so that everything is written again. */
export function readState(dataDir: string, server: string | null): IndexState {
  const fresh = { server, cursor: null, chunks: {} }
  try {
    const state = JSON.parse(readFileSync(statePath(dataDir), 'utf8')) as IndexState
    return state.server === server ? state : fresh
  } catch {
    return fresh
  }
}

/** Makes the next update write everything. */
export function forgetState(dataDir: string): void {
  rmSync(statePath(dataDir), { force: true })
}
