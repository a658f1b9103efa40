import { checkRecord, type Found, type Status } from '../../app/doctor/check.ts'
import { doctor as examine } from '../../app/doctor/doctor.ts'
import { oneLine } from '../../base/clean.ts'
import { EXIT } from '../../base/errors.ts'
import { interruptible } from '../interrupts.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import { wrappedUncut } from '../screen/flow.ts'
import { isAscii, onStdout } from '../screen/palette.ts'
import type { Asked } from '../settings.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/**
 * `doctor`: checks everything that archiving needs; exit code 1 when no page could be archived. `fix` first fixes what
 * needs no special rights.
 */
export async function doctor(asked: Asked, { fix }: { fix?: boolean }): Promise<void> {
  const found = fix
    ? await interruptible((signal) => examine(asked, { fix }, { signal, tell: sayMeanwhile }))
    : await examine(asked, { fix: false })
  const width = Math.max(...found.map(({ name }) => name.length))
  for (const each of found) {
    if (wantsJson(asked)) printRecord(checkRecord(each))
    else process.stdout.write(line(each, width))
  }
  if (!fix && found.some((each) => each.fix !== undefined))
    terminal.say('archivebox-ts doctor --fix fixes what needs no special rights')
  // Exits here, since a program that was asked for its version may still be running.
  process.exit(found.some(({ status }) => status === 'red') ? EXIT.failed : EXIT.ok)
}

const SIGNS: Readonly<Record<Status, readonly [sign: string, ascii: string]>> = {
  green: ['✓', 'ok'],
  yellow: ['!', '! '],
  red: ['✗', 'X '],
}

/** One line; the command at its end, or below it where both do not fit. */
function line(found: Found, nameWidth: number): string {
  const { name, status, command } = found
  const message = oneLine(found.message)
  const sign = SIGNS[status][isAscii() ? 1 : 0]
  const head = `${sign} ${name.padEnd(nameWidth)}  `
  const columns = process.stdout.columns || 80
  const fits = head.length + message.length + 4 + (command?.length ?? 0) <= columns
  const room = columns - head.length
  const lines = process.stdout.isTTY ? wrappedUncut(message, room) : [message]
  const text = lines.join(`\n${' '.repeat(head.length)}`)
  const mend = command === undefined ? '' : `${onStdout.dim('->')} ${oneLine(command)}`
  const colored = onStdout[status](sign) + head.slice(sign.length)
  return `${colored}${text}${mend === '' ? '' : `${fits ? ' ' : `\n${' '.repeat(sign.length + 1)}`}${mend}`}\n`
}
