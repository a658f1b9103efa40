import { setTimeout as wait } from 'node:timers/promises'
import { sleep } from '../../base/abort.ts'
import { readSetting, type Texts } from '../../base/config.ts'
import { failpoint } from '../../base/failpoint.ts'
import { isPrivateAddress, isPrivateName } from '../../browse/network/private-host.ts'
import { blockHost, takeTurn } from '../../db/host-turns.ts'
import type { Owner, SnapshotClaim } from '../../machines/queues.ts'

/** The longest wait for a name server. */
const LOOK_UP_MS = 2_000
const MOST_KNOWN = 1_000

/**
 * Waits until a claimed page may request its host, if that is soon. A page of a private host has no limits, and costs
 * nothing here.
 * @param leastDelayMs the time that the host itself asks for between two pages
 * @returns undefined: begin now; else the milliseconds before asking again
 */
export async function awaitTurn(
  { home }: Pick<Owner, 'home'>,
  claim: SnapshotClaim,
  settings: Texts,
  leastDelayMs: number,
  abort: AbortSignal,
): Promise<number | undefined> {
  const host = await limitedHost(claim.row.url, settings)
  if (host === undefined) return undefined
  const { granted, ms } = await takeTurn(
    home.db,
    { host, snapshotId: claim.id, token: claim.token },
    {
      atOnce: readSetting('HOST_CONCURRENCY', settings),
      delayMs: Math.max(1000 * readSetting('HOST_DELAY', settings), leastDelayMs),
    },
  )
  await failpoint('claim.turn_taken')
  if (!granted) return ms
  if (ms > 0) await sleep(ms, abort)
  return undefined
}

/** The host of this page refused it: no other page of it is begun for this long, at most a day. */
export async function keepAway({ home }: Pick<Owner, 'home'>, url: string, settings: Texts, ms: number): Promise<void> {
  const host = await limitedHost(url, settings)
  if (host !== undefined) await blockHost(home.db, host, ms)
}

/** The host of a URL, if its limits apply. */
async function limitedHost(url: string, settings: Texts): Promise<string | undefined> {
  const which = readSetting('MANNERS', settings)
  const { hostname } = new URL(url)
  if (which === 'off' || (which === 'public' && (await isPrivate(hostname)))) return undefined
  return hostname
}

/** For names that do not tell: as far as they were looked up. */
const known = new Map<string, boolean>()

async function isPrivate(hostname: string): Promise<boolean> {
  const answer = isPrivateName(hostname) ?? known.get(hostname)
  if (answer !== undefined) return answer
  const { lookup } = await import('node:dns/promises')
  const addresses = lookup(hostname, { all: true }).then((found) => found.map(({ address }) => address))
  // A host whose address is unknown counts as public.
  const found = await Promise.race([addresses.catch(() => []), wait(LOOK_UP_MS, [], { ref: false })])
  const isOwn = found.length > 0 && found.every(isPrivateAddress)
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(hostname, isOwn)
  return isOwn
}
