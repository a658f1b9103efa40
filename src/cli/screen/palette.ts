import pc from 'picocolors'
import { ENVIRONMENT, readSetting } from '../../base/config.ts'

/** How texts look on one stream. Green is for `archived` alone, red for what failed, yellow for what needs a person. */
export type Palette = ReturnType<typeof pc.createColors>

/** `FORCE_COLOR=0` says no. */
const NO = new Set(['0', 'false'])

/** Colours where they can be seen: on a terminal, unless somebody wants none; with FORCE_COLOR, everywhere. */
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

/** Does it show only what a typewriter has? */
export function isAscii(): boolean {
  return isDumb() || ENVIRONMENT['TERM'] === 'linux'
}

/** Of texts that go into a log file, too. */
export const PLAIN: Palette = pc.createColors(false)
export const onStdout = paletteFor(process.stdout)
export const onStderr = paletteFor(process.stderr)
