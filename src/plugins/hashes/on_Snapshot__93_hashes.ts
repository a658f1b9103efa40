#!/usr/bin/env node
// SHA-256 of every file that the plugins have published so far, and one hash over all of them.
import { join } from 'node:path'
import { writeJson } from '../base/files.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { sizeText } from '../base/settings.ts'
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
    const files: FileHash[] = []
    for (const path of outputFiles(snapshotDir, 'hashes')) {
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
