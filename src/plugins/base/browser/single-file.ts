import render from 'dom-serializer'
import { type ChildNode, type Document, DomHandler, Element, isTag, isText, type ParentNode, Text } from 'domhandler'
import { Parser } from 'htmlparser2'
import { DataUrls } from './data-urls.ts'
import { FRAME_MARK } from './frame-html.ts'
import type { PageFile, PageFrame, PageParts } from './page-parts.ts'

/** Nothing is requested, and nothing runs, when the file is opened. */
const POLICY = [
  "default-src 'none'",
  'img-src data:',
  'media-src data:',
  'font-src data:',
  "style-src 'unsafe-inline' data:",
  "frame-src 'self' data:",
].join('; ')
/** Elements that would run, request or redirect. */
const DROPPED: ReadonlySet<string> = new Set(['script', 'noscript', 'base', 'applet', 'portal'])
/** Attributes that name something that is shown. */
const SHOWN: ReadonlySet<string> = new Set(['src', 'poster', 'background'])
/** Frames in frames in frames ... */
const MAX_DEPTH = 8
/** A URL in a style sheet, or a rule that names no file. */
const CSS_URL = /@namespace[^;]*;|url\(\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]*))\s*\)|@import\s+(?:"([^"]*)"|'([^']*)')/gi
const IMAGE_SET = /image-set\((?:[^()]|\([^()]*\))*\)/gi
const NOTHING = 'data:,'

/**
 * One HTML file, in pieces, of what a page shows: pictures, styles, fonts and frames become part of it, whatever would
 * run or be requested is left out, links stay. Shadow roots open as declarative ones.
 * @param url of the page, noted in a comment
 */
export function* singleFile({ page, files }: PageParts, url: string): Generator<string, void> {
  const urls = new DataUrls()
  const html = new Inliner(files, urls).document(page, 0)
  const note = `<!-- Saved from ${url.replaceAll('--', '-%2D')} -->`
  yield* urls.pieces(html.replace(/^(<!doctype[^>]*>)?/i, (doctype) => `${doctype}${note}`))
}

class Inliner {
  readonly #files: ReadonlyMap<string, PageFile>
  readonly #urls: DataUrls
  readonly #data = new Map<PageFile, string>()

  constructor(files: ReadonlyMap<string, PageFile>, urls: DataUrls) {
    this.#files = files
    this.#urls = urls
  }

  /** The HTML of a page or frame. */
  document(frame: PageFrame, depth: number): string {
    const root = parse(frame.html)
    const drawings = new Map<PageFile, ChildNode[]>()
    this.#walk(root.childNodes, { frame, depth, drawings })
    const html = elementIn(root, 'html') ?? root
    const head = elementIn(html, 'head')
    const policy = [
      new Element('meta', { charset: 'utf-8' }),
      new Element('meta', { 'http-equiv': 'Content-Security-Policy', content: POLICY }),
    ]
    if (head) head.children.unshift(...policy)
    else html.children.unshift(new Element('head', {}, policy))
    // The drawings that `use` elements show parts of.
    const place = elementIn(html, 'body') ?? html
    for (const drawing of drawings.values()) place.children.push(...drawing)
    return render(root, { encodeEntities: 'utf8' })
  }

  #walk(nodes: readonly ChildNode[], of: Place): void {
    for (const node of nodes) {
      if (!isTag(node)) continue
      if (isDropped(node)) empty(node)
      else if (node.name === 'style') {
        for (const child of node.children) if (isText(child)) child.data = this.#css(child.data, of.frame.base)
      } else {
        this.#attributes(node, of)
        this.#walk(node.children, of)
      }
    }
  }

  #attributes(element: Element, of: Place): void {
    const { attribs, name } = element
    for (const [key, value] of Object.entries(attribs)) {
      if (/^on/i.test(key) || /^(nonce|integrity|crossorigin|ping)$/i.test(key)) delete attribs[key]
      else if (key === 'style') attribs[key] = this.#css(value, of.frame.base)
      else if (/^(xlink:)?(href|action|formaction)$/.test(key) && isScript(value)) delete attribs[key]
    }
    if (name === 'link') this.#link(element)
    else if (attribs[FRAME_MARK] !== undefined) this.#frame(element, of)
    else for (const key of Object.keys(attribs)) if (SHOWN.has(key)) this.#embed(attribs, key)
    if (name === 'image') for (const key of ['href', 'xlink:href']) this.#embed(attribs, key)
    if (name === 'use') for (const key of ['href', 'xlink:href']) this.#use(attribs, key, of)
    if (attribs['srcset'] !== undefined) this.#choice(attribs)
  }

  /** A picture that was not loaded is not loaded later, either. */
  #embed(attribs: Record<string, string>, name: string): void {
    const value = attribs[name]
    if (value === undefined || /^(data:|#)/i.test(value)) return
    const shown = this.#shown(value)
    if (shown) attribs[name] = shown
    else delete attribs[name]
  }

  /** One picture is there: the one that the browser chose. */
  #choice(attribs: Record<string, string>): void {
    const [url = '', descriptor] = attribs['srcset']!.split(' ')
    const shown = this.#shown(url)
    if (shown) attribs['srcset'] = `${shown} ${descriptor}`
    else delete attribs['srcset']
  }

  /** Browsers take parts of a drawing from the page itself, and from no data URL. */
  #use(attribs: Record<string, string>, name: string, { frame, depth, drawings }: Place): void {
    const [url = '', id] = attribs[name]?.split('#') ?? []
    const file = this.#files.get(url)
    if (id === undefined || url === '' || !file) return
    attribs[name] = `#${id}`
    if (drawings.has(file)) return
    const drawing = parse(file.body.toString(), true).childNodes.filter(isTag)
    drawings.set(file, drawing)
    for (const element of drawing) element.attribs['style'] = 'position:absolute;width:0;height:0'
    this.#walk(drawing, { frame: { ...frame, base: url }, depth, drawings })
  }

  #link(element: Element): void {
    const { attribs } = element
    const kinds = (attribs['rel'] ?? '').toLowerCase().split(/\s+/)
    const file = this.#files.get(attribs['href'] ?? '')
    if (kinds.includes('stylesheet') && file) {
      element.name = 'style'
      const text = new Text(this.#css(file.body.toString(), file.url).replaceAll('</', '<\\/'))
      // Text whose parent is not known to be a style is written with `&gt;` for `>`.
      text.parent = element
      element.children = [text]
      element.attribs = attribs['media'] === undefined ? {} : { media: attribs['media'] }
    } else if (kinds.includes('icon') && file) attribs['href'] = this.#dataUrl(file)
    else if (!kinds.includes('canonical')) empty(element)
  }

  /** What an element shows of its own: a document, else a picture. */
  #frame(element: Element, { frame, depth }: Place): void {
    const { attribs } = element
    const url = attribs['data'] ?? attribs['src'] ?? ''
    const inner = frame.frames.get(attribs[FRAME_MARK] ?? '')
    const file = this.#files.get(url)
    for (const name of [FRAME_MARK, 'data', 'src', 'type', 'classid', 'codebase']) delete attribs[name]
    if (file?.type.startsWith('image/')) {
      element.name = 'img'
      element.children = []
      attribs['src'] = this.#dataUrl(file)
    } else if (inner && depth < MAX_DEPTH) {
      element.children = []
      const html = this.document(inner, depth + 1)
      if (element.name === 'frame') attribs['src'] = this.#urls.add({ type: 'text/html;charset=utf-8', text: html })
      else Object.assign(element, { name: 'iframe' }).attribs['srcdoc'] = html
    } else if (element.name === 'embed') empty(element)
  }

  /** A style sheet with what it refers to inside; its own imports, too. */
  #css(text: string, base: string): string {
    const mark = (url: string) => this.#shown(URL.parse(url, base)?.href ?? '') ?? NOTHING
    return text
      .replace(CSS_URL, (whole, ...urls: (string | undefined)[]) => {
        const url = urls.slice(0, 5).find((one) => one !== undefined)
        if (url === undefined || /^(data:|#)/i.test(url)) return whole
        return /^@import/i.test(whole) ? `@import "${mark(url)}"` : `url("${mark(url)}")`
      })
      .replace(IMAGE_SET, (set) =>
        set.replace(/(\burl\(|\btype\()?"([^"]*)"/g, (whole, inside, url) => (inside ? whole : `url("${mark(url)}")`)),
      )
      .replaceAll(':not(:defined)', ':not(*)') // No script defines its elements any more.
  }

  /** What stands for a URL; undefined when its file is not there. A part of a drawing is named behind it. */
  #shown(url: string): string | undefined {
    const [address = '', part] = url.split('#')
    const file = this.#files.get(url) ?? this.#files.get(address)
    if (!file) return undefined
    return this.#dataUrl(file) + (part && file.type === 'image/svg+xml' ? `#${part}` : '')
  }

  #dataUrl(file: PageFile): string {
    const known = this.#data.get(file)
    if (known !== undefined) return known
    this.#data.set(file, NOTHING) // Sheets that import each other end here.
    const isCss = file.type === 'text/css'
    const mark = this.#urls.add(
      isCss ? { type: 'text/css;charset=utf-8', text: this.#css(file.body.toString(), file.url) } : file,
    )
    this.#data.set(file, mark)
    return mark
  }
}

/** Where an element stands. */
interface Place {
  readonly frame: PageFrame
  readonly depth: number
  /** Files of its document that `use` elements show parts of. */
  readonly drawings: Map<PageFile, ChildNode[]>
}

function parse(html: string, xmlMode = false): Document {
  const handler = new DomHandler()
  new Parser(handler, xmlMode ? { xmlMode } : { lowerCaseAttributeNames: false }).end(html)
  return handler.root
}

/** Nothing of an element stays, and nothing is shown. */
function empty(element: Element): void {
  element.name = 'template'
  element.attribs = {}
  element.children = []
}

function elementIn(parent: ParentNode, name: string): Element | undefined {
  return parent.children.find((node): node is Element => isTag(node) && node.name === name)
}

/** As browsers read it: without what stands before it and tabs and line ends inside. */
function isScript(url: string): boolean {
  return /^javascript:/i.test(url.replace(/[\s\p{Cc}]/gu, ''))
}

function isDropped({ name, attribs }: Element): boolean {
  const equivalent = (attribs['http-equiv'] ?? '').toLowerCase()
  return DROPPED.has(name) || (name === 'meta' && (equivalent !== '' || attribs['charset'] !== undefined))
}
