import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Intake } from '../app/add/intake.ts'
import type { NewUrls } from '../app/add/new-urls.ts'
import type { GlobalOptions } from './options.ts'
import { wrapped } from './screen/flow.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/**
 * Reports in one line what became of the entries of a list; nothing when all are new. When none is, it names the folder
 * of a copy.
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
    twice > 0 && `${number(twice)} repeated`,
    refused > 0 && `${number(refused)} refused${first}`,
    broken > 0 && `${number(broken)} broken${refused > 0 ? '' : first}`,
  ]
  sayWrapped(parts.filter(Boolean).join(' · '))
  // It may be on another node.
  const page = fresh === 0 && copy !== undefined ? join(options.dataDir, copy, 'index.html') : undefined
  if (page !== undefined && existsSync(page)) terminal.say(`open: ${onStderr.bold(page)}`)
}

/** Prints a line that may be wider than the terminal, broken between words there. */
export function sayWrapped(text: string): void {
  const lines = process.stderr.isTTY ? wrapped(text, terminal.columns) : [text]
  for (const line of lines) terminal.say(line)
}

const number = (count: number) => count.toLocaleString('en-US')
