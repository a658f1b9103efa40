import { findHookAccount } from '../hooks/account.ts'
import { type Containment, detectContainment } from '../processes/containment/containment.ts'
import type { lead } from './lead.ts'
import type { RunOptions } from './options.ts'

/** What a leader has, and a runner on its way to the gate does not need yet. */
export interface Prepared {
  readonly lead: typeof lead
  readonly containment: Containment
}

/**
 * Prepares what only a leader needs, while it passes the gate. Rejects with UsageError for a containment or an account
 * that this machine does not offer: the caller learns of that by awaiting it.
 */
export function prepare({ settings, id, home, log }: RunOptions): Promise<Prepared> {
  const detected = detectContainment(settings.config.CONTAINMENT, id)
  const found = findHookAccount(home.dataDir, settings)
  const prepared = Promise.all([detected, found, import('./lead.ts')]).then(
    ([tier, { account, careful }, { lead }]) => {
      if (careful !== undefined) log.warn(careful)
      return { lead, containment: { ...tier, account } }
    },
  )
  prepared.catch(() => {})
  return prepared
}
