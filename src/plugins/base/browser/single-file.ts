import render from 'dom-serializer'
import { type ChildNode, DomHandler, Element, isTag, isText, type ParentNode, Text } from 'domhandler'
import { Parser } from 'htmlparser2'
import { AppError } from '../../../base/errors.ts'
import { decodePage, encodingOf, UNDECLARED } from '../charset.ts'
import { type Part, partsOf } from './mhtml.ts'

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
const DROPPED: ReadonlySet<string> = new Set(['script', 'noscript', 'base', 'object', 'embed', 'applet', 'portal'])
/** Attributes that name something that is shown. */
const SHOWN: ReadonlySet<string> = new Set(['src', 'poster', 'background', 'data', 'xlink:href'])
/** Frames in frames in frames ... */
const MAX_DEPTH = 8

/**
 * One HTML file from an MHTML document: pictures, styles, fonts and frames become part of it, scripts and whatever
 * requests something are left out, links stay. Shadow roots open as declarative ones.
 * @param url of the page, noted in a comment
 */
export function singleFile(mhtml: string, url: string): string {
  const parts = partsOf(mhtml)
  const [page] = parts
  if (!page) throw new AppError('the browser saved no page')
  const files = new Map(parts.flatMap((part) => part.urls.map((name) => [name, part] as const)))
  const body = new Inliner(files).document(page, 0)
  const note = `<!-- Saved from ${url.replaceAll('--', '-%2D')} -->`
  return body.replace(/^(<!doctype[^>]*>)?/i, (doctype) => `${doctype || '<!DOCTYPE html>'}${note}`)
}

class Inliner {
  readonly #files: ReadonlyMap<string, Part>
  readonly #data = new Map<Part, string>()

  constructor(files: ReadonlyMap<string, Part>) {
    this.#files = files
  }

  /** The HTML of a page or frame. */
  document(part: Part, depth: number): string {
    const handler = new DomHandler()
    const parser = new Parser(handler, { lowerCaseAttributeNames: false })
    parser.end(decodePage(part.body, encodingOf(part.body, UNDECLARED))) // It is in the page's own encoding.
    const { root } = handler
    this.#walk(root.childNodes, depth)
    const policy = [
      new Element('meta', { charset: 'utf-8' }),
      new Element('meta', { 'http-equiv': 'Content-Security-Policy', content: POLICY }),
    ]
    const head = elementIn(elementIn(root, 'html') ?? root, 'head')
    const place = head ?? root
    const first = place.children.findIndex(isTag)
    place.children.splice(head || first === -1 ? 0 : first, 0, ...policy)
    return render(root, { encodeEntities: 'utf8' })
  }

  #walk(nodes: readonly ChildNode[], depth: number): void {
    for (const node of nodes) {
      if (!isTag(node)) continue
      if (isDropped(node)) {
        node.name = 'template' // Nothing in it is shown.
        node.attribs = {}
        node.children = []
      } else if (node.name === 'style') {
        for (const child of node.children) if (isText(child)) child.data = this.#css(child.data)
      } else {
        this.#attributes(node, depth)
        this.#walk(node.children, depth)
      }
    }
  }

  #attributes(element: Element, depth: number): void {
    const { attribs } = element
    for (const [name, value] of Object.entries(attribs)) {
      if (/^on/i.test(name) || name === 'nonce' || name === 'integrity' || name === 'crossorigin') delete attribs[name]
      else if (name === 'style') attribs[name] = this.#css(value)
      else if (/^(href|action|formaction)$/.test(name) && isScript(value)) delete attribs[name]
    }
    // Chromium's name for a declarative shadow root in MHTML.
    if (element.name === 'template' && attribs['shadowmode']) attribs['shadowrootmode'] = attribs['shadowmode']
    if (element.name === 'link') this.#link(element)
    else if (element.name === 'iframe' || element.name === 'frame') this.#frame(element, depth)
    else for (const name of Object.keys(attribs)) if (SHOWN.has(name)) this.#embed(attribs, name)
    if (element.name === 'image' || element.name === 'use') this.#embed(attribs, 'href')
    if (attribs['srcset'] !== undefined) this.#choice(attribs)
  }

  /** A picture that was not loaded is not loaded later, either. */
  #embed(attribs: Record<string, string>, name: string): void {
    const value = attribs[name]
    if (value === undefined || /^(data:|#)/i.test(value)) return
    const part = this.#files.get(value)
    if (part) attribs[name] = this.#dataUrl(part)
  }

  /** One picture is there: the one that the browser chose. */
  #choice(attribs: Record<string, string>): void {
    const chosen = (attribs['srcset'] ?? '')
      .split(/,\s+/)
      .map((one) => this.#files.get(one.trim().split(/\s+/)[0] ?? ''))
      .find((part) => part !== undefined)
    delete attribs['srcset']
    if (chosen && !attribs['src']?.startsWith('data:')) attribs['src'] = this.#dataUrl(chosen)
  }

  #link(element: Element): void {
    const { attribs } = element
    const kinds = (attribs['rel'] ?? '').toLowerCase().split(/\s+/)
    const part = this.#files.get(attribs['href'] ?? '')
    if (kinds.includes('stylesheet') && part) {
      element.name = 'style'
      const text = new Text(this.#css(sheetText(part), part).replaceAll('</', '<\\/'))
      // Text whose parent is not known to be a style is written with `&gt;` for `>`.
      text.parent = element
      element.children = [text]
      element.attribs = attribs['media'] === undefined ? {} : { media: attribs['media'] }
    } else if (kinds.includes('icon') && part) attribs['href'] = this.#dataUrl(part)
    else if (!kinds.includes('canonical')) delete attribs['href']
  }

  #frame(element: Element, depth: number): void {
    const { attribs } = element
    const part = this.#files.get(attribs['src'] ?? '')
    delete attribs['src']
    if (!part || depth >= MAX_DEPTH) return
    if (part.type === 'text/html') attribs['srcdoc'] = this.document(part, depth + 1)
    else attribs['src'] = this.#dataUrl(part)
  }

  /** A style sheet with what it refers to inside; its own imports, too. */
  #css(text: string, sheet?: Part): string {
    const base = sheet?.urls[0]
    const find = (url: string) =>
      this.#files.get(url) ?? (base && URL.canParse(url, base) ? this.#files.get(new URL(url, base).href) : undefined)
    return text.replace(
      /url\(\s*(?:"([^"]*)"|'([^']*)'|([^"')\s]*))\s*\)|@import\s+(?:"([^"]*)"|'([^']*)')/gi,
      (whole, ...urls: (string | undefined)[]) => {
        const url = urls.slice(0, 5).find((one) => one !== undefined) ?? ''
        if (/^(data:|#)/i.test(url)) return whole
        const part = find(url)
        if (part === sheet || part === undefined) return whole
        const data = this.#dataUrl(part)
        return /^@import/i.test(whole) ? `@import "${data}"` : `url("${data}")`
      },
    )
  }

  #dataUrl(part: Part): string {
    const known = this.#data.get(part)
    if (known !== undefined) return known
    this.#data.set(part, 'data:,') // A sheet that imports itself ends here.
    const body = part.type === 'text/css' ? Buffer.from(this.#css(sheetText(part), part)) : part.body
    const type = part.type === 'text/css' ? 'text/css;charset=utf-8' : part.type
    const url = `data:${type};base64,${body.toString('base64')}`
    this.#data.set(part, url)
    return url
  }
}

function elementIn(parent: ParentNode, name: string): Element | undefined {
  return parent.children.find((node): node is Element => isTag(node) && node.name === name)
}

/** The text of a style sheet, which Chromium writes in the encoding that it names at its beginning. */
function sheetText({ body }: Part): string {
  const declared = /^@charset "([^"]+)";\s*/.exec(body.toString('latin1'))
  const text = decodePage(body, declared && isEncoding(declared[1]!) ? declared[1]! : 'UTF-8')
  return text.slice(declared?.[0].length ?? 0)
}

/** As browsers read it: without what stands before it and tabs and line ends inside. */
function isScript(url: string): boolean {
  return /^javascript:/i.test(url.replace(/[\s\p{Cc}]/gu, ''))
}

function isEncoding(label: string): boolean {
  try {
    new TextDecoder(label)
    return true
  } catch {
    return false
  }
}

function isDropped({ name, attribs }: Element): boolean {
  const equivalent = (attribs['http-equiv'] ?? '').toLowerCase()
  return DROPPED.has(name) || (name === 'meta' && (equivalent !== '' || attribs['charset'] !== undefined))
}
