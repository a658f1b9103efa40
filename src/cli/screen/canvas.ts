import { isAscii, type Palette } from './palette.ts'

/** Where something is drawn. */
export interface Canvas {
  readonly columns: number
  readonly palette: Palette
  /** It shows only ASCII. */
  readonly ascii: boolean
}

/** The columns that lines may take on a stream: one less than it has, so that none wraps. No limit off a terminal. */
export function canvasOn(stream: { readonly isTTY?: boolean; readonly columns?: number }, palette: Palette): Canvas {
  const columns = stream.isTTY ? Math.max(1, (stream.columns || 80) - 1) : Number.POSITIVE_INFINITY
  return { columns, palette, ascii: isAscii() }
}
