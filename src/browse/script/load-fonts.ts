import { pause } from './pause.ts'

/** Matches a list of sources that begins with local fonts, and the address of a file after them. */
const LOCAL_FIRST = /^(?:\s*local\([^)]*\)\s*,)+\s*url\("?([^")]*)"?\)/

/**
 * Loads the files of fonts that this machine also has itself (`src: local(...), url(...)`), because another machine may
 * lack them.
 */
export async function loadFonts(until: number): Promise<void> {
  const faces = [...document.fonts].filter(({ status }) => status === 'loaded')
  const used = new Set(faces.map((font) => keyOf(font.family, font.style, font.weight, font.unicodeRange)))
  const loading: Promise<unknown>[] = []
  for (const sheet of used.size > 0 ? document.styleSheets : [])
    for (const rule of rulesOf(sheet)) {
      if (!(rule instanceof CSSFontFaceRule)) continue
      const of = (name: string) => rule.style.getPropertyValue(name)
      const range = of('unicode-range') || 'U+0-10FFFF'
      const key = keyOf(of('font-family'), of('font-style') || 'normal', of('font-weight') || 'normal', range)
      const url = LOCAL_FIRST.exec(of('src'))?.[1]
      const href = url && URL.parse(url, sheet.href ?? document.baseURI)?.href
      if (!href || !used.has(key) || performance.getEntriesByName(href).length > 0) continue
      loading.push(new FontFace(key, `url(${JSON.stringify(href)})`).load())
    }
  await Promise.race([Promise.allSettled(loading), pause(Math.max(0, until - performance.now()))])
}

const keyOf = (family: string, style: string, weight: string, range: string) =>
  [family.replace(/["']/g, ''), style, weight, range.toUpperCase()].join()

function rulesOf(sheet: CSSStyleSheet): CSSRule[] {
  try {
    return [...sheet.cssRules]
  } catch {
    return [] // From another origin.
  }
}
