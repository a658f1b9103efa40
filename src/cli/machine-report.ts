import { examine } from '../app/doctor/check.ts'
import { MACHINE_CHECKS } from '../app/doctor/machine-checks.ts'
import { QUICK_PLUGINS_CHECK } from '../app/doctor/plugin-checks.ts'
import { oneLine } from '../base/clean.ts'
import type { Log } from '../base/log.ts'
import { quietMs } from '../base/quiet-ms.ts'
import type { Asked } from './settings.ts'

/** A warning that comes later than this no longer looks like one about the start. */
const PATIENCE_MS = 1_000

/** Logs what is wrong with this machine, as far as that is cheap to find out. */
export async function sayWhatIsWrong(asked: Asked, log: Log): Promise<void> {
  const found = await examine(asked, [...MACHINE_CHECKS, QUICK_PLUGINS_CHECK], quietMs(PATIENCE_MS))
  for (const { name, status, message, command } of found)
    if (status !== 'green')
      log.warn(oneLine(`${name}: ${message}${command === undefined ? '' : ` -> ${command}`}`), {
        ...{ event: 'machine.lacks', check: name },
      })
}
