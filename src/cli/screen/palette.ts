import pc from 'picocolors'
import { ENVIRONMENT, readSetting } from '../../base/config.ts'

/** The styles of one stream. Green is for `archived` alone, red for failures, yellow for what needs attention. */
export type Palette = ReturnType<typeof pc.createColors>

/** Values of `FORCE_COLOR` that turn colours off. */
const NO = new Set(['0', 'false'])

/** Colours on a terminal, unless they are turned off; with FORCE_COLOR, everywhere. */
export function paletteFor(stream: { readonly isTTY?: boolean }): Palette {
  return pc.createColors(wantsColours(stream))
}

function wantsColours({ isTTY }: { readonly isTTY?: boolean }): boolean {
  if (process.argv.includes('--no-color') || readSetting('NO_COLOR', ENVIRONMENT)) return false
  const force = readSetting('FORCE_COLOR', ENVIRONMENT)
  return force === undefined ? isTTY === true && !isDumb() : !NO.has(force)
}

/** A terminal that cannot move its cursor. */
export function isDumb(): boolean {
  return ENVIRONMENT['TERM'] === 'dumb'
}

/** Whether the terminal shows only ASCII. */
export function isAscii(): boolean {
  return isDumb() || ENVIRONMENT['TERM'] === 'linux'
}

/** For texts that also go into a log file. */
export const PLAIN: Palette = pc.createColors(false)
export const onStdout = paletteFor(process.stdout)
export const onStderr = paletteFor(process.stderr)
