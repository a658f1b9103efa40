import type { Home } from '../../db/home.ts'
import type { SnapshotPage } from '../../pages/model/snapshot.ts'
import { openBelow } from './open-below.ts'

/** The hashes of a page: SHA-256, hexadecimal. */
export interface Hashes {
  /** Of all files together. */
  readonly root: string
  /** By the path in the folder of the page. */
  readonly files: ReadonlyMap<string, string>
}

/** The most bytes that are read: a page has some hundred files. */
const MOST_BYTES = 4_000_000
const SHA256 = /^[0-9a-f]{64}$/

/** The hashes of the files of a page; undefined: there are none, or they cannot be read. */
export async function hashesOf(
  { dataDir }: Pick<Home, 'dataDir'>,
  { folder, hashes }: SnapshotPage,
): Promise<Hashes | undefined> {
  const opened = hashes ? await openBelow(dataDir, folder, hashes) : undefined
  if (!opened) return undefined
  try {
    if (opened.stats.size > MOST_BYTES) return undefined
    return read(JSON.parse(await opened.handle.readFile('utf8')))
  } catch {
    return undefined
  } finally {
    await opened.handle.close()
  }
}

/** The valid content of that file: it was made from untrusted data. */
function read(said: unknown): Hashes {
  const { root_hash: root, files } = (said ?? {}) as { root_hash?: unknown; files?: unknown }
  const entries = (Array.isArray(files) ? files : []).flatMap((entry: unknown) => {
    const { path, sha256 } = (entry ?? {}) as { path?: unknown; sha256?: unknown }
    return typeof path === 'string' && typeof sha256 === 'string' && SHA256.test(sha256)
      ? [[path, sha256] as const]
      : []
  })
  return { root: typeof root === 'string' && SHA256.test(root) ? root : '', files: new Map(entries) }
}
