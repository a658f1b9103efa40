/** The bytes of a file that are sent, both ends included. */
export interface Range {
  readonly first: number
  readonly last: number
}

/**
 * The bytes that a `Range` header requests (RFC 9110, 14). Undefined: all, also for several ranges, another unit, and
 * an invalid header; `none`: the file has none of them.
 * @param size of the file
 */
export function rangeOf(header: string | undefined, size: number): Range | 'none' | undefined {
  const [, from, to] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? []
  if (from === undefined || to === undefined || (from === '' && to === '')) return undefined
  if (from === '') {
    if (Number(to) === 0) return 'none'
    // The end of an empty file is all of it, which no range can express.
    return size === 0 ? undefined : { first: Math.max(0, size - Number(to)), last: size - 1 }
  }
  const first = Number(from)
  if (to !== '' && Number(to) < first) return undefined
  if (first >= size) return 'none'
  return { first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) }
}
