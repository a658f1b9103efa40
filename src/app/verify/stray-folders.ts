import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { isUuid } from '../../base/ids.ts'
import { Removal } from '../../base/removal.ts'
import type { Home } from '../../db/home.ts'
import { hasOtherNodes, namedNodes } from '../../db/nodes.ts'
import { type LeftPage, pagesAway, withoutRow } from '../../db/recorded-files.ts'
import type { Problem } from './check-page.ts'

const BATCH = 1_000
const KINDS = [
  ['snapshots', 'snapshot'],
  ['crawls', 'crawl'],
] as const

/**
 * The folders of pages and crawls without a row, and of pages that another node has archived since then, batch by
 * batch. Throws the reason of `signal` when it aborts.
 */
export async function* strayFolders(home: Home, signal: AbortSignal): AsyncGenerator<Problem> {
  const { db, dataDir } = home
  const isAlone = !(await hasOtherNodes(home))
  for (const [kind, table] of KINDS) {
    let batch = new Map<string, string>()
    const strays = async () => {
      signal.throwIfAborted()
      const known = batch
      batch = new Map()
      const ids = (await withoutRow(db, table, [...known.keys()])).filter((id) => !isInRemoval(dataDir, id))
      const away = isAlone || table !== 'snapshot' ? [] : await pagesAway(home, [...known.keys()])
      const nodes = await namedNodes(db, new Set(away.map(({ node }) => node)))
      return [
        ...ids.map((id) => stray(known.get(id)!, table)),
        ...away.map((page) => leftBehind(known.get(page.id)!, page, nodes.get(page.node)!.name)),
      ]
    }
    for (const path of foldersBelow(dataDir, `archive/${kind}`)) {
      const id = path.slice(path.lastIndexOf('/') + 1)
      if (isUuid(id)) batch.set(id.toLowerCase(), path)
      else yield stray(path, table)
      if (batch.size === BATCH) yield* await strays()
    }
    yield* await strays()
  }
}

/** Whether it still is one. Rows may be written after the files that belong to them. */
export async function isStray({ db, dataDir }: Home, path: string): Promise<boolean> {
  const table = KINDS.find(([kind]) => path.startsWith(`archive/${kind}/`))![1]
  const id = basename(path).toLowerCase()
  if (!existsSync(join(dataDir, path))) return false
  return !isUuid(id) || (!isInRemoval(dataDir, id) && (await withoutRow(db, table, [id])).length > 0)
}

const isInRemoval = (dataDir: string, id: string): boolean =>
  Removal.begun(dataDir).some(({ name }) => name.endsWith(id))

const stray = (path: string, table: string): Problem => ({
  problem: 'unknown',
  path,
  detail: `no ${table} has this folder`,
})

const leftBehind = (path: string, { is_archived: isArchived }: LeftPage, node: string): Problem => ({
  problem: 'left behind',
  path,
  detail: `its page is at home on node ${node}${isArchived ? '' : ', which has not archived it, or is lost'}`,
})

/** `archive/snapshots/<day>/<domain>/<id>` */
export function* foldersBelow(dataDir: string, top: string): Generator<string> {
  for (const day of folders(dataDir, top)) for (const domain of folders(dataDir, day)) yield* folders(dataDir, domain)
}

function folders(dataDir: string, path: string): string[] {
  try {
    const entries = readdirSync(join(dataDir, path), { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${path}/${name}`)
  } catch {
    return [] // It does not exist, or is gone by now.
  }
}
