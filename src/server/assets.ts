import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asset } from '../base/package-root.ts'

/** A file that pages load. Its name depends on its content, so that a browser may keep it for ever. */
export interface ServedAsset {
  readonly path: string
  readonly type: string
  readonly text: string
}

/** The stylesheet, which pages on disk share, the script, and that of the worker that tabs share. */
export function servedAssets(): Readonly<Record<'style' | 'script' | 'worker', ServedAsset>> {
  known ??= {
    style: made('pages.css', 'text/css', [
      ['pages.css', asset('pages', 'pages/assets')],
      ['served.css', asset('pages', 'pages/assets')],
    ]),
    script: made('served.js', 'text/javascript', [['served.js', asset('pages', '../dist/pages')]]),
    worker: made('stream.js', 'text/javascript', [['stream.js', asset('pages', '../dist/pages')]]),
  }
  return known
}
let known: ReturnType<typeof servedAssets> | undefined

function made(name: string, type: string, files: readonly (readonly [name: string, folder: string])[]): ServedAsset {
  const text = files.map(([file, folder]) => readFileSync(join(folder, file), 'utf8')).join('\n')
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { path: `/assets/${hash}-${name}`, type: `${type}; charset=utf-8`, text }
}
