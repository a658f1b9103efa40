import { discreet } from '../../base/clean.ts'
import type { PageEnd } from '../../base/log.ts'
import type { Canvas } from './canvas.ts'
import { cutEnd, cutUrl } from './fit.ts'
import type { Palette } from './palette.ts'
import { widthOf } from './width.ts'

interface Mark {
  readonly sign: string
  readonly ascii: string
  readonly colour: keyof Pick<Palette, 'green' | 'yellow' | 'red' | 'dim'>
}

const MARKS: Readonly<Record<'archived' | 'partial' | 'failed' | 'sealed', Mark>> = {
  archived: { sign: '✓', ascii: '+', colour: 'green' },
  partial: { sign: '~', ascii: '~', colour: 'yellow' },
  failed: { sign: '✗', ascii: 'x', colour: 'red' },
  sealed: { sign: '·', ascii: '.', colour: 'dim' },
}
/** A URL that is cut shorter than this is of no use. */
const SHORTEST = 12

/** A page that ended, on one line: how, which one, and the cause or its title. */
export function pageEndLine({ url, title, outcome, cause }: PageEnd, { columns, palette, ascii }: Canvas): string {
  const { colour, ...mark } = MARKS[outcome ?? 'sealed']
  const room = columns - 2
  const about = discreet(cause ?? title ?? '')
  const address = discreet(url)
  const wanted = Math.min(widthOf(about), Math.max(0, room - SHORTEST - 2))
  const short = cutUrl(address, wanted === 0 ? room : Math.max(SHORTEST, room - 2 - Math.min(wanted, room / 2)))
  const left = room - widthOf(short) - 2
  const style = cause === null ? palette.dim : palette[colour]
  const behind = about === '' || left < 4 ? '' : `  ${style(cutEnd(about, left))}`
  return `${palette[colour](ascii ? mark.ascii : mark.sign)} ${short}${behind}`
}
