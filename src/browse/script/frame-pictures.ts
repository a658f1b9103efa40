import { reader } from './world.ts'

/** Matches an address that ends with a comma, or one with descriptors. Never backtracks. */
const CANDIDATE = /([^\s,]\S*),(?=\s|$)|([^\s,]\S*)([^,]*)/g

const parentOf = reader(Node, 'parentNode')

/** The content of a canvas; null: it is empty, or the page may not read it. */
export function dataUrl(canvas: HTMLCanvasElement, type?: string): string | null {
  try {
    return canvas.width * canvas.height > 0 ? canvas.toDataURL(type) : null
  } catch {
    return null
  }
}

/** The present frame of a video, on a canvas; null: it has none yet. */
export function frameOf(video: HTMLVideoElement): HTMLCanvasElement | null {
  const canvas = Document.prototype.createElement.call(document, 'canvas') as HTMLCanvasElement
  Object.assign(canvas, { width: video.videoWidth, height: video.videoHeight })
  if (video.readyState < 2) return null
  canvas.getContext('2d')!.drawImage(video, 0, 0)
  return canvas
}

/** For a file that is shown in several parts, the browser names one part for all. */
export const shownBy = ({ src, currentSrc }: HTMLImageElement) =>
  src.split('#')[0] === currentSrc.split('#')[0] ? src : currentSrc

/** The chosen picture of several, with its size, as attributes. */
export function chosenPicture(image: HTMLImageElement, absolute: (address: string) => string) {
  const parent = parentOf(image) as Element | null
  const sources = (parent?.localName === 'picture' ? [...parent.children] : [image]) as HTMLSourceElement[]
  for (const source of sources)
    for (const [, alone, address, words = ''] of (source.srcset ?? '').matchAll(CANDIDATE)) {
      if (absolute(alone ?? address!) !== image.currentSrc) continue
      const descriptor = /^\s+([\d.]+[wx])\s*$/.exec(words)?.[1] ?? '1x'
      return { srcset: `${image.currentSrc} ${descriptor}`, sizes: source.getAttribute('sizes') }
    }
  return { srcset: null, sizes: null }
}
