import { LEADING, SHOWN, STYLED } from '../inert/allowed.ts'
import type { Within } from '../inert/clean.ts'
import { inertCss } from '../inert/css.ts'
import { NOWHERE } from '../inert/nowhere.ts'
import { readFragment, readTree, unlessRefused } from '../inert/read-tree.ts'
import { settled } from '../inert/settled.ts'
import {
  attribute,
  type Element,
  elementIn,
  elementsIn,
  isElement,
  nameOf,
  rename,
  SVG,
  setAttribute,
  setText,
  textOf,
} from '../inert/tree.ts'
import { DataUrls } from './data-urls.ts'
import { FRAME_MARK } from './frame-mark.ts'
import type { PageFile, PageFrame, PageParts } from './page-parts.ts'

/** Opening the file requests nothing, and runs nothing. */
const POLICY = [
  "default-src 'none'",
  'img-src data:',
  'media-src data:',
  'font-src data:',
  "style-src 'unsafe-inline' data:",
  'frame-src data:',
  "form-action 'none'",
  "base-uri 'none'",
].join('; ')
/** Begins the head of each document: everything that the page wrote comes after it. */
const HEAD = `<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="referrer" content="no-referrer">`
/** Elements that may show another document. */
const FRAMING: ReadonlySet<string> = new Set(['iframe', 'frame', 'object', 'embed'])
/** For frames in frames in frames ... */
const MAX_DEPTH = 8
/** A data URL, and its parts. */
const DATA_URL = /^data:([^,]*?)(;\s*base64\s*)?,(.*)$/is

/**
 * Writes a page as one HTML file, in pieces: pictures, styles, fonts and frames become part of it, whatever would run
 * or send requests is left out, and links stay. Shadow roots become declarative ones, which are open. Throws AppError
 * for a page that cannot be parsed.
 * @param url of the page, noted in a comment
 */
export function* singleFile({ page, files }: PageParts, url: string): Generator<string, void> {
  const urls = new DataUrls()
  const note = `<!-- Saved from ${url.replaceAll('--', '-%2D').replaceAll('>', '%3E')} -->`
  yield* urls.pieces(new Inliner(files, urls).document(page, 0, note))
}

class Inliner {
  readonly #files: ReadonlyMap<string, PageFile>
  readonly #urls: DataUrls
  readonly #data = new Map<PageFile | string, string>()
  readonly #within: Within

  constructor(files: ReadonlyMap<string, PageFile>, urls: DataUrls) {
    this.#files = files
    this.#urls = urls
    this.#within = {
      isShown: (address) => urls.isShown(address),
      isDocument: (address) => urls.isDocument(address),
      inertCss: new Set(),
    }
  }

  /** The HTML of a page or frame. */
  document(frame: PageFrame, depth: number, note = ''): string {
    const tree = readTree(frame.html)
    const drawings = new Map<PageFile, Element[]>()
    const place = { frame, depth, drawings, shown: new Set<string>() }
    for (const element of elementsIn(tree)) this.#element(element, place)
    // The drawings that `use` elements take parts from.
    const body = elementIn(elementIn(tree, 'html')!, 'body')
    for (const drawing of drawings.values()) for (const one of drawing) body?.childNodes.push(one)
    const { doctype, html, head, body: text } = settled(tree, this.#within)
    return `${doctype}${note}${html}${HEAD}${head}</head>${text}</html>`
  }

  #element(element: Element, of: Place): void {
    const { tagName: name } = element
    if (name === 'style') setText(element, this.#css(textOf(element), of.frame.base))
    for (const one of element.attrs)
      if (STYLED.has(nameOf(one).toLowerCase())) one.value = this.#css(one.value, of.frame.base)
    if (name === 'link') this.#link(element)
    else if (FRAMING.has(name) && attribute(element, FRAME_MARK) !== undefined) this.#frame(element, of)
    else for (const key of SHOWN) this.#embed(element, key)
    if (/^(?:image|feimage)$/i.test(name)) for (const key of LEADING) this.#embed(element, key)
    if (name === 'use') for (const key of LEADING) this.#use(element, key, of)
    this.#choice(element)
  }

  /** A picture that was not loaded will not be loaded later, either. */
  #embed(element: Element, key: string): void {
    const value = attribute(element, key)
    if (value !== undefined && !value.startsWith('#')) setAttribute(element, key, this.#shown(value) ?? NOWHERE)
  }

  /** Only one picture is in the file: the one that the browser chose. */
  #choice(element: Element): void {
    const [url, descriptor = '1x'] = attribute(element, 'srcset')?.split(' ') ?? []
    if (url !== undefined) setAttribute(element, 'srcset', `${this.#shown(url) ?? NOWHERE} ${descriptor}`)
  }

  /** Browsers accept parts of a drawing from the page itself, but not from a data URL. */
  #use(element: Element, key: string, of: Place): void {
    const { drawings, frame } = of
    const [url = '', id] = attribute(element, key)?.split('#') ?? []
    const file = this.#files.get(url)
    if (id === undefined || url === '' || !file) return
    setAttribute(element, key, `#${id}`)
    if (drawings.has(file)) return
    const root = unlessRefused(() => readFragment(file.body.toString()))
    if (!root) return
    root.childNodes = root.childNodes.filter((node) => isElement(node) && node.namespaceURI === SVG)
    const drawing = root.childNodes.filter(isElement)
    drawings.set(file, drawing)
    for (const inner of elementsIn(root)) this.#element(inner, { ...of, frame: { ...frame, base: url } })
    for (const one of drawing) setAttribute(one, 'style', 'position:absolute;width:0;height:0')
  }

  #link(element: Element): void {
    const kinds = (attribute(element, 'rel') ?? '').toLowerCase().split(/\s+/)
    const url = attribute(element, 'href') ?? ''
    const sheet = kinds.includes('stylesheet') ? this.#sheet(url) : undefined
    if (sheet !== undefined) {
      const media = attribute(element, 'media')
      rename(element, 'style')
      element.attrs = media === undefined ? [] : [{ name: 'media', value: media }]
      setText(element, sheet)
    } else if (kinds.includes('icon')) {
      setAttribute(element, 'rel', 'icon')
      this.#embed(element, 'href')
    }
  }

  /** Embeds what an element shows: a document, else a picture. */
  #frame(element: Element, { frame, depth, shown }: Place): void {
    const url = attribute(element, 'data') ?? attribute(element, 'src') ?? ''
    const number = attribute(element, FRAME_MARK) ?? ''
    const inner = shown.has(number) ? undefined : frame.frames.get(number)
    shown.add(number)
    const file = this.#files.get(url)
    for (const key of [FRAME_MARK, 'data', 'src', 'type', 'classid', 'codebase']) setAttribute(element, key, undefined)
    if (file?.type.startsWith('image/')) {
      rename(element, 'img')
      setAttribute(element, 'src', this.#dataUrl(file))
    } else if (inner && depth < MAX_DEPTH) {
      const isUrl = element.tagName === 'frame'
      rename(element, isUrl ? 'frame' : 'iframe')
      // A frame that cannot be parsed becomes empty: the page around it is kept.
      const text = unlessRefused(() => this.document(inner, depth + 1))
      if (text !== undefined) setAttribute(element, isUrl ? 'src' : 'srcdoc', this.#urls.addDocument(text, isUrl))
    }
  }

  /** The text of a style sheet; undefined when it is missing. */
  #sheet(url: string): string | undefined {
    const file = this.#files.get(url)
    if (file) return this.#css(file.body.toString(), file.url)
    const [, , isBase64, text] = DATA_URL.exec(url) ?? []
    if (text === undefined) return undefined
    const plain = decoded(text)
    return this.#css(isBase64 ? Buffer.from(plain, 'base64').toString() : plain, url)
  }

  /** A style sheet with everything that it refers to embedded, imports included. */
  #css(text: string, base: string): string {
    const css = inertCss(text, (address, isSheet) => {
      if (address.startsWith('#')) return address
      const url = URL.parse(address, base)?.href ?? ''
      return (isSheet ? this.#imported(url) : this.#shown(url)) ?? NOWHERE
    })
    const defined = css.replaceAll(':not(:defined)', ':not(*)') // No script will define its elements.
    this.#within.inertCss.add(defined)
    return defined
  }

  /** A style sheet that another one imports. */
  #imported(url: string): string | undefined {
    const key = this.#files.get(url) ?? url
    const known = this.#data.get(key)
    if (known !== undefined) return known
    this.#data.set(key, NOWHERE) // Ends circular imports.
    const text = this.#sheet(url)
    if (text === undefined) return undefined
    const mark = this.#urls.add({ type: 'text/css;charset=utf-8', text })
    this.#data.set(key, mark)
    return mark
  }

  /** The mark for a URL, with its fragment; undefined when its file is missing. */
  #shown(url: string): string | undefined {
    if (this.#urls.isShown(url)) return url
    if (/^data:/i.test(url)) return this.#given(url)
    const [address = '', part] = url.split('#')
    const file = this.#files.get(url) ?? this.#files.get(address)
    if (!file || isPage(file.type)) return undefined
    return this.#dataUrl(file) + (part && file.type === 'image/svg+xml' ? `#${encodeURIComponent(part)}` : '')
  }

  /** The mark for one of the page's own data URLs. */
  #given(url: string): string | undefined {
    const [, type = ''] = DATA_URL.exec(url) ?? []
    if (isPage(type.trim().toLowerCase())) return undefined
    const known = this.#data.get(url)
    if (known !== undefined) return known
    const mark = this.#urls.add({ address: url })
    this.#data.set(url, mark)
    return mark
  }

  #dataUrl(file: PageFile): string {
    const known = this.#data.get(file)
    if (known !== undefined) return known
    const mark = this.#urls.add(file)
    this.#data.set(file, mark)
    return mark
  }
}

/** The surroundings of an element. */
interface Place {
  readonly frame: PageFrame
  readonly depth: number
  /** Files that `use` elements of its document take parts from. */
  readonly drawings: Map<PageFile, Element[]>
  /** The numbers of the frames met so far: each belongs to one element. */
  readonly shown: Set<string>
}

/** Whether a browser would show it as a page. A drawing can also be a picture, which runs and loads nothing. */
const isPage = (type: string) => /^(?:text\/(?:html|xml)|application\/(?:xml|xhtml\+xml)|multipart\/)/.test(type)

const decoded = (text: string) =>
  text.replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
