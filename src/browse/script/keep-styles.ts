/** Asks a document or element for the original text of its styles. */
const ASK = 'archivebox-styles-wanted'
/** Carries the answer in `detail`: a JSON list with a text for each of its style sheets. */
const TELL = 'archivebox-styles'

type Styled = { readonly sheet?: CSSStyleSheet | null; readonly adoptedStyleSheets?: readonly CSSStyleSheet[] }

/**
 * Remembers the text of the rules that scripts make. Browsers return it without `border: 1px solid var(--colour)` if
 * another declaration of the rule overrides a part of it.
 */
export function keepStyles(): void {
  const written = new WeakMap<CSSStyleSheet | CSSRule, string>()
  const note = (sheet: CSSStyleSheet, text: string) => {
    written.set(sheet, text)
    for (const rule of sheet.cssRules) written.delete(rule)
  }
  const { replace, replaceSync, insertRule, deleteRule } = CSSStyleSheet.prototype
  const noted: Partial<CSSStyleSheet> & ThisType<CSSStyleSheet> = {
    async replace(text) {
      const sheet = await replace.call(this, text)
      note(sheet, text)
      return sheet
    },
    replaceSync(text) {
      replaceSync.call(this, text)
      note(this, text)
    },
    insertRule(text, index) {
      const place = insertRule.call(this, text, index)
      written.delete(this)
      written.set(this.cssRules[place]!, text)
      return place
    },
    deleteRule(index) {
      written.delete(this)
      deleteRule.call(this, index)
    },
  }
  Object.assign(CSSStyleSheet.prototype, noted)
  const textOf = (sheet: CSSStyleSheet) =>
    written.get(sheet) ?? Array.from(sheet.cssRules, (rule) => written.get(rule) ?? rule.cssText).join('\n')
  const tell = (event: Event) => {
    const { sheet, adoptedStyleSheets = [] } = event.composedPath()[0] as Styled
    const texts = Array.from(sheet ? [sheet] : adoptedStyleSheets, textOf)
    dispatchEvent(new CustomEvent(TELL, { detail: JSON.stringify(texts) }))
  }
  addEventListener(ASK, tell, true)
}

/** Called in our world: the original text of the style sheets of a document, shadow root or element. */
export function writtenStyles(place: Node): string[] {
  let texts: string[] = []
  const take = (event: Event) => {
    texts = JSON.parse((event as CustomEvent<string>).detail) as string[]
  }
  addEventListener(TELL, take, { once: true })
  place.dispatchEvent(new Event(ASK, { composed: true }))
  removeEventListener(TELL, take)
  return texts
}
