import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { libDir } from '../../hooks/upstream/plugin-tree.ts'

/**
 * ReplayWeb.page, as npm has it. Its licence is the AGPL: it is fetched whole, sent unchanged with its licence and a
 * link to its source, and is no part of this program.
 */
export const PUBLISHED = {
  name: 'replaywebpage',
  version: '2.5.3',
  integrity: 'sha512-nCj2PSON3BxeSJKE8AsYPyULv0XPZKJWfy4l9PyQre9SqwLZ+WKZVs/sfLqPOQ4GrH+0YkjbwOhr8cSTH08gsQ==',
  source: 'https://github.com/webrecorder/replayweb.page/tree/v2.5.3',
} as const

/** What of it is kept: complete bundles, which need nothing else. */
export const PUBLISHED_FILES = ['ui.js', 'sw.js', 'LICENSE'] as const

/** Where it is installed. */
export function replayDir(settings: Texts): string {
  return join(libDir(settings), 'replay', PUBLISHED.version)
}

/** The folder in which it lies whole; undefined: it is not installed. */
export function installedReplay(settings: Texts): string | undefined {
  const folder = replayDir(settings)
  return PUBLISHED_FILES.every((name) => existsSync(join(folder, name))) ? folder : undefined
}
