import { Parser } from 'htmlparser2'

/** Replaces a shadow root among the elements that have one. */
const ROOT = 'shadow-root'

/** A page whose declarative shadow roots are ordinary elements: the content of templates is hard to find. */
export function openShadowRoots(html: string): string {
  if (!/<template\s[^>]*shadowrootmode/i.test(html)) return html
  let written = ''
  let from = 0
  const isRoot: boolean[] = []
  const put = (tag: string) => {
    written += html.slice(from, parser.startIndex) + tag
    from = parser.endIndex + 1
  }
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name !== 'template') return
      isRoot.push('shadowrootmode' in attributes)
      if (isRoot.at(-1)) put(`<${ROOT}>`)
    },
    onclosetag(name, isImplied) {
      if (name === 'template' && isRoot.pop() && !isImplied) put(`</${ROOT}>`)
    },
  })
  parser.end(html)
  return written + html.slice(from)
}
