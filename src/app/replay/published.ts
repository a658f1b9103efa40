import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { libDir } from '../../hooks/upstream/plugin-tree.ts'

/**
 * ReplayWeb.page, as published on npm. Its licence is the AGPL: it is downloaded whole, served unchanged with its
 * licence and a link to its source, and is not part of this program.
 */
export const PUBLISHED = {
  name: 'replaywebpage',
  version: '2.5.3',
  integrity: 'sha512-nCj2PSON3BxeSJKE8AsYPyULv0XPZKJWfy4l9PyQre9SqwLZ+WKZVs/sfLqPOQ4GrH+0YkjbwOhr8cSTH08gsQ==',
  source: 'https://github.com/webrecorder/replayweb.page/tree/v2.5.3',
} as const

/** The files that are kept: complete bundles, which need nothing else. */
export const PUBLISHED_FILES = ['ui.js', 'sw.js', 'LICENSE'] as const

/** Where it is installed. */
export function replayDir(settings: Texts): string {
  return join(libDir(settings), 'replay', PUBLISHED.version)
}

/** The folder of the complete installation; undefined: it is not installed. */
export function installedReplay(settings: Texts): string | undefined {
  const folder = replayDir(settings)
  return PUBLISHED_FILES.every((name) => existsSync(join(folder, name))) ? folder : undefined
}
