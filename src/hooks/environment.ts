import { join } from 'node:path'
import { readSetting } from '../base/config.ts'
import { MARKER } from '../processes/family.ts'
import type { HookSettings } from './discover.ts'

/** What a hook works on. */
export interface HookTarget {
  readonly dataDir: string
  readonly crawlId: string
  readonly crawlDir: string
  readonly snapshotId?: string
  readonly snapDir?: string
  /** Where the page's outputs are published, out of reach of other hooks. */
  readonly publishedDir?: string
  readonly depth: number
  readonly url: string
  /** Command-line arguments in place of `--url`. */
  readonly args?: readonly string[]
}

/** Never passed to a hook: access to our database, and variables that would change the hook's own runtime. */
const FORBIDDEN = /^(PG[A-Z]*|DATABASE_URL|ARCHIVEBOX_.*|NODE_OPTIONS|NODE_CHANNEL_.*|npm_.*|INIT_CWD)$/

/** Is a setting of this name kept from hooks? */
export function isKeptFromHooks(name: string): boolean {
  return FORBIDDEN.test(name)
}

/** The settings that hooks get: the configuration file, overridden by the environment, overridden by the crawl. */
export function hookSettings(layers: readonly HookSettings[]): Record<string, string | undefined> {
  const merged: Record<string, string | undefined> = {}
  for (const layer of layers)
    for (const [key, value] of Object.entries(layer)) if (!isKeptFromHooks(key)) merged[key] = value
  return merged
}

/** The environment of one hook process: ArchiveBox's plugin contract and our marks. */
export function hookEnvironment(
  settings: HookSettings,
  target: HookTarget,
  hook: { plugin: string; name: string },
  ids: { processId: string; workerId: string; runnerId: string },
): Record<string, string> {
  const { dataDir } = target
  const env: Record<string, string | undefined> = {
    ...settings,
    DATA_DIR: dataDir,
    ARCHIVE_DIR: join(dataDir, 'archive'),
    PERSONAS_DIR: join(dataDir, 'personas'),
    ACTIVE_PERSONA: readSetting('ACTIVE_PERSONA', settings),
    CRAWL_DIR: target.crawlDir,
    SNAP_DIR: target.snapDir ?? target.crawlDir,
    CRAWL_ID: target.crawlId,
    SNAPSHOT_ID: target.snapshotId,
    SNAPSHOT_DEPTH: String(target.depth),
    ABX_RUNTIME: 'archivebox',
    PYTHONDONTWRITEBYTECODE: '1',
    NODE_BINARY: readSetting('NODE_BINARY', settings),
    EXTRA_CONTEXT: extraContext(target, hook),
    ARCHIVEBOX_PUBLISHED_DIR: target.publishedDir,
    [MARKER.process]: ids.processId,
    [MARKER.worker]: ids.workerId,
    [MARKER.runner]: ids.runnerId,
  }
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** The context that a hook's records carry on, as JSON. */
export function extraContext(target: HookTarget, hook: { plugin: string; name: string }): string {
  return JSON.stringify({
    crawl_id: target.crawlId,
    snapshot_id: target.snapshotId,
    snapshot_depth: target.depth,
    plugin: hook.plugin,
    hook_name: hook.name,
  })
}
