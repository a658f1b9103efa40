import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asset } from '../base/package-root.ts'

/** The paths of the stylesheet and the script of the pages, relative to the top of the archive. */
export interface PageAssets {
  readonly style: string
  readonly script: string
}

interface AssetFile {
  readonly path: string
  readonly text: string
}

/**
 * The files that all pages share. Their names depend on their content: pages that an older program wrote keep the files
 * that they were made for.
 */
export function assetFiles(): { readonly style: AssetFile; readonly script: AssetFile } {
  known ??= {
    style: read('pages.css', asset('pages', 'pages/assets')),
    // It is bundled: even the sources use it from the build.
    script: read('pages.js', asset('pages', '../dist/pages')),
  }
  return known
}
let known: ReturnType<typeof assetFiles> | undefined

export function pageAssets(): PageAssets {
  const { style, script } = assetFiles()
  return { style: style.path, script: script.path }
}

function read(name: string, folder: string): AssetFile {
  const text = readFileSync(join(folder, name), 'utf8')
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { path: `archive/pages/${hash}-${name}`, text }
}
