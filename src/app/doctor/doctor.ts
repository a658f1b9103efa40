import { AppError, EXIT } from '../../base/errors.ts'
import { quietMs } from '../../base/quiet-ms.ts'
import type { Call } from '../call.ts'
import type { OpenEvent } from '../open/events.ts'
import { type Check, type Examined, examine, type Found } from './check.ts'
import { DATA_DIR_CHECKS } from './data-dir-checks.ts'
import { DATABASE_CHECKS } from './database-checks.ts'
import { CONTAINMENT_CHECK, MACHINE_CHECKS, OWN_CHECKS } from './machine-checks.ts'
import { PERSONA_CHECK } from './persona-check.ts'
import { PLUGINS_CHECK, PROGRAM_VERSION_CHECKS } from './plugin-checks.ts'

/** All checks must be done by then: on a quiet machine the whole command takes 1.5 s at most. */
const PATIENCE_MS = 1_200

const ALL: readonly Check[] = [
  ...OWN_CHECKS,
  ...DATA_DIR_CHECKS,
  PERSONA_CHECK,
  ...DATABASE_CHECKS,
  ...MACHINE_CHECKS,
  CONTAINMENT_CHECK,
  ...PROGRAM_VERSION_CHECKS,
  PLUGINS_CHECK,
]

/** A problem was fixed. */
export interface Mended {
  readonly event: 'mended'
  readonly name: string
  readonly what: string
}

/** Checks everything that archiving needs; with `fix`, first fixes what needs no special rights. */
export async function doctor(
  examined: Examined,
  { fix }: { readonly fix: boolean },
  call: Call<OpenEvent | Mended> = {},
): Promise<Found[]> {
  const found = await examine(examined, ALL, quietMs(PATIENCE_MS))
  const mendable = fix ? found.filter((each) => each.fix !== undefined) : []
  for (const { name, fix: mend } of mendable) {
    if (call.signal?.aborted) throw new AppError('interrupted: the rest is unchanged', { exitCode: EXIT.interrupted })
    call.tell?.({ event: 'mended', name, what: await mend!(call) })
  }
  return mendable.length > 0 ? await examine(examined, ALL, quietMs(PATIENCE_MS)) : found
}
