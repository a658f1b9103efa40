import { asSource, closedCopy } from './closed-copy.ts'
import { find } from './dom.ts'
import { bytesOf, textOf } from './encoding.ts'

// Copies as they were served, which a page contains packed.

const unpacked = new Map<string, Promise<string>>()

const packedAt = (href: string) => find(`[data-packed="${CSS.escape(href)}"]`)
export const isPacked = (href: string): boolean => packedAt(href) !== null

/** Shows a copy in a frame; by its address, if this page does not contain it. */
export function fill(frame: HTMLIFrameElement, href: string): void {
  const packed = packedAt(href)
  if (!packed) {
    frame.src = href
    return
  }
  copyOf(packed, href).then(
    (text) => {
      frame.srcdoc = text
    },
    () => {
      frame.srcdoc = 'This copy cannot be shown.'
    },
  )
}

/** The text of a copy, as it may be shown. */
function copyOf(packed: HTMLElement, href: string): Promise<string> {
  const known = unpacked.get(href)
  if (known !== undefined) return known
  const text = unpack(packed.textContent ?? '').then((bytes) =>
    packed.dataset['as'] === 'source' ? asSource(textOf(bytes)) : closedCopy(textOf(bytes), href),
  )
  unpacked.set(href, text)
  return text
}

async function unpack(base64: string): Promise<Uint8Array> {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream('gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}
