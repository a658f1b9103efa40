import { pause } from './pause.ts'

/**
 * Loads lazy content at once, also where a script should have loaded it and did not, and waits for pictures and fonts.
 */
export async function loadLate(until: number): Promise<void> {
  const late = 'img[loading=lazy], iframe[loading=lazy]'
  for (const each of document.querySelectorAll<HTMLImageElement | HTMLIFrameElement>(late)) each.loading = 'eager'
  for (const image of document.images) {
    const { src, original, lazySrc, lazy, srcset, lazySrcset } = image.dataset as Partial<Record<string, string>>
    const url = [src, lazySrc, original, lazy].find((one) => one && URL.canParse(one, document.baseURI))
    if (!isEmpty(image) || image.hasAttribute('srcset')) continue
    const set = srcset ?? lazySrcset
    if (set) image.srcset = set
    if (url) image.src = url
  }
  const pictures = [...document.images].filter((image) => !image.complete)
  const loaded = pictures.map(
    (image) =>
      new Promise((resolve) => {
        for (const event of ['load', 'error']) image.addEventListener(event, resolve, { once: true })
      }),
  )
  // A document whose loading broke off or was stopped, and that loads no font, never reports that they are ready.
  const fonts = document.fonts.status === 'loading' ? document.fonts.ready : undefined
  await Promise.race([Promise.all([...loaded, fonts]), pause(Math.max(0, until - performance.now()))])
}

const isEmpty = (image: HTMLImageElement) =>
  !image.currentSrc || image.currentSrc.startsWith('data:') || image.naturalWidth === 1
