import { join } from 'node:path'
import { readSetting, type Texts } from '../../base/config.ts'
import { sizeText } from '../../base/words.ts'
import { AddressFilter } from '../../browse/network/address-filter.ts'
import { bytesOfHost, pagesBefore } from '../../db/host-use.ts'
import type { Owner, SnapshotClaim } from '../../machines/queues.ts'
import { type Robots, robotsOf } from './robots.ts'

/** What the settings decide about a page before it is begun. */
export interface Permission {
  /** Why it is not archived, in one line; undefined: it is. */
  readonly refusal: string | undefined
  /** The time that its host asks for between two pages, in milliseconds. */
  readonly delayMs: number
  /** It may be archived at another time. */
  readonly isForNow?: boolean
}

/**
 * Checks the limits of the crawl, and the host's robots.txt, if they are set: otherwise it costs nothing.
 */
export async function permissionFor(
  { home }: Pick<Owner, 'home'>,
  { row }: SnapshotClaim,
  settings: Texts,
  abort: AbortSignal,
): Promise<Permission> {
  const isPrivate = AddressFilter.from(settings).refusalOf(row.url)
  if (isPrivate !== undefined) return { refusal: isPrivate, delayMs: 0 }
  const [pages, bytes] = [readSetting('MAX_PAGES_PER_HOST', settings), readSetting('MAX_SIZE_PER_HOST', settings)]
  const page = { id: row.id, crawlId: row.crawl_id, url: row.url }
  const { host } = new URL(row.url)
  if (pages > 0 && (await pagesBefore(home.db, page, pages)) >= pages)
    return { refusal: `more than ${pages} pages of ${host} (MAX_PAGES_PER_HOST)`, delayMs: 0 }
  if (bytes > 0 && (await bytesOfHost(home.db, page)) >= bytes)
    return { refusal: `more than ${sizeText(bytes)} of ${host} (MAX_SIZE_PER_HOST)`, delayMs: 0 }
  const robots: Robots | undefined = readSetting('ROBOTS_TXT', settings)
    ? await robotsOf(row.url, { ...settings, PERSONAS_DIR: join(home.dataDir, 'personas') }, abort)
    : undefined
  return { refusal: robots?.refusal(row.url), delayMs: robots?.delayMs ?? 0, isForNow: robots?.isUnread ?? false }
}
