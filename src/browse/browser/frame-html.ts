import { CLOSED_ROOTS } from './closed-roots.ts'
import { ASK_STYLES, TELL_STYLES } from './keep-styles.ts'
import { READER } from './reader.ts'

/** A frame's document as it is shown now, for a file that needs neither scripts nor a network. */
export interface FrameHtml {
  readonly html: string
  /** What relative URLs in `style` elements and attributes are relative to. */
  readonly base: string
  /** Names of pictures that are to be taken of the elements in `PICTURED`, in which the script may not read. */
  readonly pictured: readonly string[]
  /** How many elements have FRAME_MARK. */
  readonly framing: number
}

/** Stands at every element that shows another document: its number in `FRAMES`. */
export const FRAME_MARK = 'data-frame-of-page'
/** The world's list of elements with FRAME_MARK. */
export const FRAMES = 'globalThis.framesOfPage'

/** The world's list of elements that pictures are to be taken of. */
export const PICTURED = 'globalThis.picturedOfPage'

/**
 * Evaluates to a FrameHtml: the document with what HTML itself does not say. Styles that scripts made or changed,
 * adopted style sheets, shadow roots, what was drawn on a canvas, typed or chosen in a form (never a password),
 * the picture that was chosen of several, a picture of a video that has no poster. Scripts are left out, and URLs are
 * absolute.
 */
export const FRAME_HTML = `(() => {
  const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '))
  const DROPPED = new Set('script noscript base noembed noframes'.split(' '))
  const EMPTY = new Set(['template', 'iframe'])
  // What is in them is read as it stands, and what is behind the last of them, too.
  const VERBATIM = new Set('xmp plaintext listing'.split(' '))
  // An address behind which a comma stands, or one with words about it. No place of it is tried again.
  const CANDIDATE = /([^\\s,]\\S*),(?=\\s|$)|([^\\s,]\\S*)([^,]*)/g
  const FRAME_MARK = '${FRAME_MARK}'
  const MOST_PICTURES = 20
  ${READER}
  const [typeOf, childrenOf, parentOf] = ['nodeType', 'childNodes', 'parentNode'].map((name) => reader(Node, name))
  const [nameOf, kindOf, attributesOf, rootOf] =
    ['localName', 'namespaceURI', 'attributes', 'shadowRoot'].map((name) => reader(Element, name))
  const [root, body, doctype, sheets] =
    ['documentElement', 'body', 'doctype', 'adoptedStyleSheets'].map((name) => reader(Document, name)(document))
  const base = reader(Node, 'baseURI')(document)
  const frames = (${FRAMES} = [])
  const pictured = (${PICTURED} = [])
  const pictures = 'picture-of-page:' + Math.random().toString(36).slice(2) + '/'
  const absolute = (value) => (URL.canParse(value, base) ? new URL(value, base).href : value)
  const escaped = (text) => text.replace(/[&<>"\\u00a0]/g, (char) => '&#' + char.charCodeAt(0) + ';')
  const rulesOf = (sheet) => Array.from(sheet.cssRules, (rule) => rule.cssText)
  const writtenFor = (node) => {
    let texts = []
    const take = ({ detail }) => (texts = JSON.parse(detail))
    addEventListener('${TELL_STYLES}', take, { once: true })
    node.dispatchEvent(new Event('${ASK_STYLES}', { composed: true }))
    removeEventListener('${TELL_STYLES}', take)
    return texts
  }
  // A declaration without a value is what the browser could not write.
  const textOf = (rules, node, number) =>
    (rules.some((rule) => /:\\s*;/.test(rule)) && writtenFor(node)[number]) || rules.join('\\n')

  const styleText = (element) => {
    const { textContent: text, sheet } = element
    if (!sheet) return text
    const written = new CSSStyleSheet()
    written.replaceSync(text)
    const [asWritten, asIs] = [rulesOf(written), rulesOf(sheet)]
    const isSame = asIs.filter((rule) => !rule.startsWith('@import')).join() === asWritten.join()
    return isSame ? text : textOf(asIs, element, 0)
  }
  // Of what stands in a drawing a parser takes more for markup than where it stood.
  const STRINGS = [/"(?:\\\\.|[^"\\\\\\n])*"?/, /'(?:\\\\.|[^'\\\\\\n])*'?/]
  const PARTS = [/\\/\\*.*?(?:\\*\\/|$)/, ...STRINGS, /url\\([^)"']*\\)?/, /<(?=[a-z!?/])/]
  const TAGS = new RegExp(PARTS.map(({ source }) => source).join('|'), 'gis')
  const withoutTags = (part) => (part === '<' ? '< ' : part.replace(/<(?=[a-z!?/])/gi, '\\\\3c '))
  const style = (css, media) =>
    '<style' + (media ? ' media="' + escaped(media) + '"' : '') + '>' + css.replace(TAGS, withoutTags) + '</style>'
  const adopted = (place, sheets) =>
    sheets
      .map((sheet, number) =>
        sheet.disabled ? '' : style(textOf(rulesOf(sheet), place, number), sheet.media.mediaText))
      .join('')

  const dataUrl = (canvas, type) => {
    try {
      return canvas.width * canvas.height > 0 ? canvas.toDataURL(type) : null
    } catch {
      return null // It shows what the page may not read.
    }
  }
  const seen = (element) => {
    const isSeen = element.checkVisibility() && element.clientWidth * element.clientHeight > 0
    return isSeen && pictured.length < MOST_PICTURES ? pictures + (pictured.push(element) - 1) : null
  }
  const drawnBy = (video) => {
    const canvas = Document.prototype.createElement.call(document, 'canvas')
    Object.assign(canvas, { width: video.videoWidth, height: video.videoHeight })
    if (video.readyState >= 2) canvas.getContext('2d').drawImage(video, 0, 0)
    return video.readyState >= 2 ? (dataUrl(canvas, 'image/jpeg') ?? seen(video)) : null
  }
  // Of a file that is shown in several parts the browser names one part for all.
  const shownBy = ({ src, currentSrc }) => (src.split('#')[0] === currentSrc.split('#')[0] ? src : currentSrc)
  const chosen = (image) => {
    const sources = parentOf(image)?.localName === 'picture' ? [...parentOf(image).children] : [image]
    for (const source of sources)
      for (const [, alone, address, words = ''] of (source.srcset ?? '').matchAll(CANDIDATE)) {
        if (absolute(alone ?? address) !== image.currentSrc) continue
        const descriptor = /^\\s+([\\d.]+[wx])\\s*$/.exec(words)?.[1] ?? '1x'
        return { srcset: image.currentSrc + ' ' + descriptor, sizes: source.getAttribute('sizes') }
      }
    return { srcset: null, sizes: null }
  }

  const CHANGES = new Map(Object.entries({
    img: (image) => ({ src: shownBy(image) || null, ...chosen(image), loading: null }),
    iframe: () => ({ src: null, srcdoc: null, loading: null, [FRAME_MARK]: '' }),
    frame: () => ({ src: null, [FRAME_MARK]: '' }),
    object: (object) => ({ data: absolute(object.data), [FRAME_MARK]: '' }),
    embed: (embed) => ({ src: absolute(embed.src), [FRAME_MARK]: '' }),
    video: (video) => ({ src: null, autoplay: null, poster: video.poster || drawnBy(video) }),
    audio: () => ({ src: null, autoplay: null }),
    canvas(canvas) {
      const drawn = dataUrl(canvas) ?? seen(canvas)
      const shown = ';background:url("' + drawn + '") 0 0/100% 100% no-repeat content-box'
      return drawn ? { style: (canvas.getAttribute('style') ?? '') + shown } : {}
    },
    input(input) {
      if (input.type === 'image') return { src: absolute(input.src) }
      if (input.type === 'checkbox' || input.type === 'radio') return { checked: input.checked ? '' : null }
      return { value: input.type === 'password' || input.type === 'file' ? null : input.value || null }
    },
    option: (option) => ({ selected: option.selected ? '' : null }),
  }))

  const attributes = (element) => {
    const all = new Map(Array.from(attributesOf(element), ({ name, value }) => [name, value]))
    for (const name of all.keys()) if (name.toLowerCase() === FRAME_MARK) all.delete(name)
    for (const name of ['href', 'xlink:href', 'background', 'src', 'poster', 'action'])
      if (all.has(name) && !/^(#|data:)/i.test(all.get(name).trim())) all.set(name, absolute(all.get(name)))
    for (const [name, value] of Object.entries((isHtml(element) && CHANGES.get(nameOf(element))?.(element)) || {}))
      value === null || value === undefined ? all.delete(name) : all.set(name, value)
    if (all.has(FRAME_MARK)) all.set(FRAME_MARK, frames.push(element) - 1)
    return [...all]
      .filter(([name]) => /^[^\\s"'<>/=]+$/.test(name))
      .map(([name, value]) => ' ' + name + '="' + escaped(String(value)) + '"')
      .join('')
  }
  const isHtml = (node) => kindOf(node) === 'http://www.w3.org/1999/xhtml'
  const inside = (parent) => Array.from(childrenOf(parent), write).join('')
  const write = (node) => {
    const type = typeOf(node)
    if (type === Node.TEXT_NODE || type === Node.CDATA_SECTION_NODE) return escaped(node.data)
    if (type !== Node.ELEMENT_NODE) return ''
    const isKnown = isHtml(node)
    const name = isKnown && VERBATIM.has(nameOf(node)) ? 'pre' : nameOf(node)
    if (DROPPED.has(name) || (name === 'source' && parentOf(node).localName === 'picture')) return ''
    if (name === 'style') return style(styleText(node), node.sheet?.disabled ? 'not all' : node.media)
    if (name === 'link' && /\\balternate\\b/i.test(node.rel) && node.title) return ''
    if (name === 'link' && /\\bstylesheet\\b/i.test(node.rel) && node.sheet?.disabled !== false) return ''
    const tag = '<' + name + attributes(node) + '>'
    if (isKnown && VOID.has(name)) return tag
    const shade = rootOf(node) ?? ${CLOSED_ROOTS}?.get(node)
    const shadow = shade
      ? '<template shadowrootmode="open">' + inside(shade) + adopted(shade, shade.adoptedStyleSheets) + '</template>'
      : ''
    // A parser drops a line break that these begin with.
    const first = isKnown && /^(?:pre|textarea)$/.test(name) ? '\\n' : ''
    const content =
      isKnown && name === 'textarea' ? escaped(node.value) : isKnown && EMPTY.has(name) ? '' : inside(node)
    return tag + shadow + first + content + (node === body ? adopted(document, sheets) : '') + '</' + name + '>'
  }
  const kind = doctype ? new XMLSerializer().serializeToString(doctype) : ''
  const html = kind + write(root)
  return { html, base, pictured: pictured.map((_, number) => pictures + number), framing: frames.length }
})()`
