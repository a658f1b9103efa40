/** To a document or element: what its styles were written as is wanted. */
export const ASK_STYLES = 'archivebox-styles-wanted'
/** The answer, in `detail`: a JSON list with a text for each of its style sheets. */
export const TELL_STYLES = 'archivebox-styles'

/**
 * Before any script of a page: remembers the text of the rules that scripts make. Browsers give it back without
 * `border: 1px solid var(--colour)` where another declaration of the rule overrides a part of it.
 */
export const KEEP_STYLES = `{
  const written = new WeakMap()
  const note = (sheet, text) => {
    written.set(sheet, text)
    for (const rule of sheet.cssRules) written.delete(rule)
  }
  const { replace, replaceSync, insertRule, deleteRule } = CSSStyleSheet.prototype
  Object.assign(CSSStyleSheet.prototype, {
    replace(text) {
      return replace.call(this, text).then((sheet) => (note(sheet, text), sheet))
    },
    replaceSync(text) {
      replaceSync.call(this, text)
      note(this, text)
    },
    insertRule(text, index) {
      const place = insertRule.call(this, text, index)
      written.delete(this)
      written.set(this.cssRules[place], text)
      return place
    },
    deleteRule(index) {
      written.delete(this)
      deleteRule.call(this, index)
    },
  })
  const textOf = (sheet) =>
    written.get(sheet) ?? Array.from(sheet.cssRules, (rule) => written.get(rule) ?? rule.cssText).join('\\n')
  addEventListener('${ASK_STYLES}', (event) => {
    const [node] = event.composedPath()
    const texts = Array.from(node.sheet ? [node.sheet] : (node.adoptedStyleSheets ?? []), textOf)
    dispatchEvent(new CustomEvent('${TELL_STYLES}', { detail: JSON.stringify(texts) }))
  }, true)
}`
