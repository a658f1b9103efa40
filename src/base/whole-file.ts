import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The temporary name of a file until it is complete: one for all, because a suffix could make a long name too long. */
export const PART = '.part'

/** Makes the output directory of a hook, unless it is there. */
export function makeDir(dir: string): void {
  if (!existsSync(dir)) mkdirSync(dir, { recursive: true })
}

/** Writes a file of `dir`, which need not exist, completely or not at all. Overwrites; leaves no part on failure. */
export function writeWhole(dir: string, name: string, data: string | Uint8Array): void {
  makeDir(dir)
  const part = join(dir, PART)
  try {
    writeFileSync(part, data)
    renameSync(part, join(dir, name))
  } catch (error) {
    rmSync(part, { force: true })
    throw error
  }
}

/** `writeWhole` for what would not fit into memory. */
export async function writePieces(
  dir: string,
  name: string,
  pieces: Iterable<string> | AsyncIterable<Uint8Array>,
): Promise<void> {
  makeDir(dir)
  const part = join(dir, PART)
  try {
    await writeFile(part, pieces)
    renameSync(part, join(dir, name))
  } catch (error) {
    rmSync(part, { force: true })
    throw error
  }
}

/** Pretty JSON with a final newline, written whole. */
export function writeJson(dir: string, name: string, value: unknown): void {
  writeWhole(dir, name, `${JSON.stringify(value, null, 2)}\n`)
}
