import { type Containment, detectContainment } from '../processes/containment/containment.ts'
import type { lead } from './lead.ts'
import type { RunOptions } from './options.ts'

/** What a leader has that a runner on its way to the gate does not need yet. */
export interface Prepared {
  readonly lead: typeof lead
  readonly containment: Containment
}

/**
 * Gets ready what only a leader needs, in the time that it takes to pass the gate.
 * Rejects with UsageError for a containment that this machine does not offer; whoever awaits it hears of that.
 */
export function prepare({ settings, id }: RunOptions): Promise<Prepared> {
  const detected = detectContainment(settings.config.CONTAINMENT, id)
  const prepared = Promise.all([detected, import('./lead.ts')]).then(([containment, { lead }]) => ({
    lead,
    containment,
  }))
  prepared.catch(() => {})
  return prepared
}
