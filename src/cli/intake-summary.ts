import { join } from 'node:path'
import type { Intake } from './intake.ts'
import type { NewUrls } from './new-urls.ts'
import type { GlobalOptions } from './options.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/**
 * Says in one line what became of the entries of a list; nothing when each is new. Where none is, it says where a copy
 * lies.
 */
export function sayIntake(options: GlobalOptions, intake: Intake, { list, archived, copy }: NewUrls): void {
  const { read, refused, broken, twice, firstLeftOut } = intake
  const fresh = list?.total ?? 0
  if (read === fresh || options.quiet) return
  const first = firstLeftOut === undefined ? '' : ` (${firstLeftOut})`
  const parts = [
    `${number(read)} read`,
    `${number(fresh)} new`,
    archived > 0 && `${number(archived)} archived before (skipped; --again to archive them anew)`,
    twice > 0 && `${number(twice)} twice in it`,
    refused > 0 && `${number(refused)} not URLs${first}`,
    broken > 0 && `${number(broken)} broken${refused > 0 ? '' : first}`,
  ]
  terminal.say(parts.filter(Boolean).join(' · '))
  if (fresh === 0 && copy !== undefined)
    terminal.say(`open: ${onStderr.bold(join(options.dataDir, copy, 'index.html'))}`)
}

const number = (count: number) => count.toLocaleString('en-US')
