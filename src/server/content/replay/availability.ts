import { installedReplay } from '../../../app/replay/published.ts'
import { href } from '../../../pages/links.ts'
import type { Session } from '../../access/sessions.ts'
import type { Web } from '../../web.ts'
import type { ContentPlace } from '../addresses.ts'

/** Where a file is replayed, or why it cannot be. */
export type Replay = { readonly address: string } | { readonly off: 'not installed' | 'one host' | 'no TLS' }

/** The address of the page that replays a WARC or WACZ of a capture. @param path relative to its folder */
export function replayAddress(
  { archive, copies }: Pick<Web, 'archive' | 'copies'>,
  session: Session,
  snapshotId: string,
  path: string,
): Replay {
  if (!copies.place.isWildcard) return { off: 'one host' }
  if (!isSecure(copies.place)) return { off: 'no TLS' }
  if (installedReplay(archive.settings.texts) === undefined) return { off: 'not installed' }
  return { address: `${copies.base(snapshotId, session, 'replay')}/page/${href(path)}` }
}

/** Whether browsers register service workers there. */
function isSecure({ protocol, host }: ContentPlace): boolean {
  return protocol === 'https:' || /^(?:.+\.)?localhost(?::\d+)?$/.test(host)
}

const RECORD = /\.(?:wacz|warc(?:\.gz)?)$/i

/** Whether a file can be replayed, by its name. */
export const isRecord = (path: string): boolean => RECORD.test(path)

/** The record of a capture to replay: preferably a package, which is read in parts, else a WARC. */
export function recordOf(records: readonly string[]): string | undefined {
  return records.find((path) => /\.wacz$/i.test(path)) ?? records[0]
}
