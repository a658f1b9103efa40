import { writtenStyles } from './keep-styles.ts'
import { escaped } from './markup.ts'

// Inside a drawing, a parser takes more text for markup than it would elsewhere.
const STRINGS = [/"(?:\\.|[^"\\\n])*"?/, /'(?:\\.|[^'\\\n])*'?/]
const PARTS = [/\/\*.*?(?:\*\/|$)/, ...STRINGS, /url\([^)"']*\)?/, /<(?=[a-z!?/])/]
const TAGS = new RegExp(PARTS.map(({ source }) => source).join('|'), 'gis')

/** The text of a `style` element: as written, unless scripts have changed its rules. */
export function styleText(element: HTMLStyleElement): string {
  const { textContent: text, sheet } = element
  if (!sheet) return text
  const written = new CSSStyleSheet()
  written.replaceSync(text)
  const [asWritten, asIs] = [rulesOf(written), rulesOf(sheet)]
  const isSame = asIs.filter((rule) => !rule.startsWith('@import')).join() === asWritten.join()
  return isSame ? text : textOf(asIs, element, 0)
}

/** A `style` element with this text. */
export const styleElement = (css: string, media: string) =>
  `<style${media ? ` media="${escaped(media)}"` : ''}>${css.replace(TAGS, withoutTags)}</style>`

/** The style sheets that scripts have added to a document or shadow root, as elements. */
export const adoptedStyles = (place: Node, sheets: readonly CSSStyleSheet[]) =>
  sheets
    .map((sheet, number) =>
      sheet.disabled ? '' : styleElement(textOf(rulesOf(sheet), place, number), sheet.media.mediaText),
    )
    .join('')

const rulesOf = (sheet: CSSStyleSheet) => Array.from(sheet.cssRules, (rule) => rule.cssText)

/** A declaration without a value is one that the browser could not write. */
const textOf = (rules: readonly string[], place: Node, number: number) =>
  (rules.some((rule) => /:\s*;/.test(rule)) && writtenStyles(place)[number]) || rules.join('\n')

const withoutTags = (part: string) => (part === '<' ? '< ' : part.replace(/<(?=[a-z!?/])/gi, '\\3c '))
