/**
 * A function of the page: loads the served files of fonts that this machine has itself (`src: local(...), url(...)`),
 * because another one may lack them.
 */
export const LOAD_FONTS = `async (until, pause) => {
  const plain = (name) => name.replace(/["']/g, '')
  const keyOf = (family, style, weight, range) => [plain(family), style, weight, range.toUpperCase()].join()
  const used = new Set([...document.fonts].filter(({ status }) => status === 'loaded')
    .map((font) => keyOf(font.family, font.style, font.weight, font.unicodeRange)))
  const loading = []
  const rulesOf = (sheet) => {
    try {
      return [...sheet.cssRules]
    } catch {
      return [] // Of another origin.
    }
  }
  for (const sheet of used.size > 0 ? document.styleSheets : [])
    for (const rule of rulesOf(sheet)) {
      if (!(rule instanceof CSSFontFaceRule)) continue
      const of = (name) => rule.style.getPropertyValue(name)
      const src = of('src')
      const range = of('unicode-range') || 'U+0-10FFFF'
      const key = keyOf(of('font-family'), of('font-style') || 'normal', of('font-weight') || 'normal', range)
      const [, url] = /^(?:\\s*local\\([^)]*\\)\\s*,)+\\s*url\\("?([^")]*)"?\\)/.exec(src) ?? []
      const href = url && URL.parse(url, sheet.href ?? document.baseURI)?.href
      if (!href || !used.has(key) || performance.getEntriesByName(href).length > 0) continue
      loading.push(new FontFace(key, 'url(' + JSON.stringify(href) + ')').load())
    }
  await Promise.race([Promise.allSettled(loading), pause(Math.max(0, until - performance.now()))])
}`
