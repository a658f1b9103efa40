/**
 * A function of the page: loads at once what would load late, also where a script should have done it and has not, and
 * waits for pictures and fonts.
 */
export const LOAD_LATE = `async (until, pause) => {
  for (const late of document.querySelectorAll('img[loading=lazy], iframe[loading=lazy]')) late.loading = 'eager'
  const isEmpty = (image) => !image.currentSrc || image.currentSrc.startsWith('data:') || image.naturalWidth === 1
  for (const image of document.images) {
    const { src, original, lazySrc, lazy, srcset, lazySrcset } = image.dataset
    const url = [src, lazySrc, original, lazy].find((one) => one && URL.canParse(one, document.baseURI))
    if (!isEmpty(image) || image.hasAttribute('srcset')) continue
    if (srcset ?? lazySrcset) image.srcset = srcset ?? lazySrcset
    if (url) image.src = url
  }
  const pictures = [...document.images].filter((image) => !image.complete)
  const loaded = pictures.map((image) => new Promise((resolve) => {
    for (const event of ['load', 'error']) image.addEventListener(event, resolve, { once: true })
  }))
  // A document whose loading broke off or was stopped, and that loads no font, never says that they are ready.
  const fonts = document.fonts.status === 'loading' ? document.fonts.ready : undefined
  await Promise.race([Promise.all([...loaded, fonts]), pause(Math.max(0, until - performance.now()))])
}`
