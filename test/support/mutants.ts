import { CLI } from './mutants/cli.ts'
import { DB } from './mutants/db.ts'
import { ENGINE } from './mutants/engine.ts'
import { HOOKS } from './mutants/hooks.ts'
import { MACHINES } from './mutants/machines.ts'
import type { Mutant } from './mutants/mutant.ts'
import { PLUGINS } from './mutants/plugins.ts'
import { PROCESSES } from './mutants/processes.ts'
import { RUNNER } from './mutants/runner.ts'
import { WORKERS } from './mutants/workers.ts'

/**
 * Each promise's mechanism, turned off: a suite that stays green without it proves nothing about it. `npm run mutants`
 * tries them all. They are grouped by room.
 */
export const MUTANTS: readonly Mutant[] = [
  ...CLI,
  ...DB,
  ...ENGINE,
  ...HOOKS,
  ...MACHINES,
  ...PLUGINS,
  ...PROCESSES,
  ...RUNNER,
  ...WORKERS,
]
