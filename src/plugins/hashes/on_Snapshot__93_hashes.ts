#!/usr/bin/env node
// SHA-256 of every file that the plugins have published so far, and one hash over all of them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sizeText } from '../../base/env-settings.ts'
import { writeJson } from '../../base/whole-file.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { hashFile } from './hash-file.ts'
import { merkleRoot } from './merkle-root.ts'
import { outputFiles } from './output-files.ts'

interface FileHash {
  readonly path: string
  readonly size: number
  readonly sha256: string
}

export default defineHook(import.meta, {
  plugin: 'hashes',
  anyUrl: true,
  async run(context) {
    // The files beside us may be half-written, or changed by other hooks.
    const snapshotDir = context.env['ARCHIVEBOX_PUBLISHED_DIR'] ?? join(context.outputDir, '..')
    const before = stillValid(snapshotDir, join(context.outputDir, '..'))
    const files: FileHash[] = []
    for (const path of outputFiles(snapshotDir, 'hashes')) {
      const known = before.get(path)
      if (known) {
        files.push(known)
        continue
      }
      const hash = await hashFile(join(snapshotDir, path), context.signal)
      if (hash) files.push({ path, ...hash })
    }
    if (files.length === 0) return noResults('no files to hash')
    const root = merkleRoot(files.map((file) => file.sha256))
    const size = files.reduce((sum, file) => sum + file.size, 0)
    writeJson(context.outputDir, 'hashes.json', {
      root_hash: root,
      files,
      metadata: { file_count: files.length, total_size: size },
    })
    return succeeded(`${files.length} files, ${sizeText(size)}, ${root.slice(0, 12)}`)
  },
})

/**
 * On a page that was hashed before, the hashes of the files that no hook has written since: a file that has changed all
 * the same is damaged, and its present content is not what was archived.
 */
function stillValid(snapshotDir: string, workDir: string): ReadonlyMap<string, FileHash> {
  try {
    const written = new Set(JSON.parse(readFileSync(join(workDir, '.written-since-hashes.json'), 'utf8')) as string[])
    const text = readFileSync(join(snapshotDir, 'hashes', 'hashes.json'), 'utf8')
    const { files } = JSON.parse(text) as { files: FileHash[] }
    return new Map(files.filter(({ path }) => !written.has(path)).map((file) => [file.path, file]))
  } catch {
    return new Map() // The first time, or of another program.
  }
}
