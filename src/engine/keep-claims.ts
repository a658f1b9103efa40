import { every } from './every.ts'
import type { Executor } from './executor.ts'

/** How often deadlines and leases are checked, in milliseconds. */
const CHECK_MS = 250

/** Renews leases, three times in each, and enforces deadlines while rows are held. */
export function keepClaims(
  models: readonly { readonly executor: Executor; readonly leaseSeconds: number }[],
  report: (error: unknown) => void,
  until: AbortSignal,
): Promise<void>[] {
  return models.flatMap(({ executor, leaseSeconds }) => [
    every((leaseSeconds * 1000) / 3, until, report, () => renew(executor, leaseSeconds)),
    every(CHECK_MS, until, report, () => executor.check()),
  ])
}

/** A slow answer says little about the present, so it is requested again. */
async function renew(executor: Executor, leaseSeconds: number): Promise<void> {
  for (let isLate = true; isLate; ) {
    const askedAt = performance.now()
    await executor.renew()
    isLate = performance.now() - askedAt > (leaseSeconds * 1000) / 6
  }
}
