import { FRAME_MARK } from '../browser/frame-mark.ts'
import { chosenPicture, dataUrl, frameOf, shownBy } from './frame-pictures.ts'
import { escaped, isHtml } from './markup.ts'
import { reader } from './world.ts'

const MOST_PICTURES = 20
const ADDRESSES = ['href', 'xlink:href', 'background', 'src', 'poster', 'action']

const nameOf = reader(Element, 'localName')
const attributesOf = reader(Element, 'attributes')

/** New values of attributes; null removes one. */
type Changes = Readonly<Record<string, string | null>>

/** Writes the attributes of a document's elements, in their present state. */
export class FrameAttributes {
  /** The elements that show other documents, by the numbers in their marks. */
  readonly framing: Element[] = []
  /** The elements that need a picture taken. */
  readonly pictured: Element[] = []
  readonly #prefix = `picture-of-page:${Math.random().toString(36).slice(2)}/`
  readonly #base: string

  constructor(base: string) {
    this.#base = base
  }

  /** The addresses that stand for these pictures. */
  get pictures(): string[] {
    return this.pictured.map((_, number) => this.#prefix + number)
  }

  /** As written in a tag. */
  of(element: Element): string {
    const all = new Map(Array.from(attributesOf(element), ({ name, value }) => [name, value]))
    for (const name of all.keys()) if (name.toLowerCase() === FRAME_MARK) all.delete(name)
    for (const name of ADDRESSES) {
      const address = all.get(name)
      if (address !== undefined && !/^(#|data:)/i.test(address.trim())) all.set(name, this.#absolute(address))
    }
    const change = isHtml(element) ? this.#changes.get(nameOf(element)) : undefined
    for (const [name, value] of Object.entries(change?.(element) ?? {}))
      if (value === null) all.delete(name)
      else all.set(name, value)
    if (all.has(FRAME_MARK)) all.set(FRAME_MARK, String(this.framing.push(element) - 1))
    return [...all]
      .filter(([name]) => /^[^\s"'<>/=]+$/.test(name))
      .map(([name, value]) => ` ${name}="${escaped(String(value))}"`)
      .join('')
  }

  readonly #absolute = (address: string) =>
    URL.canParse(address, this.#base) ? new URL(address, this.#base).href : address

  /** The address for a picture of an element; null: it is not visible, or there are enough pictures. */
  #seen(element: Element): string | null {
    const isSeen = element.checkVisibility() && element.clientWidth * element.clientHeight > 0
    if (!isSeen || this.pictured.length >= MOST_PICTURES) return null
    return this.#prefix + (this.pictured.push(element) - 1)
  }

  #poster(video: HTMLVideoElement): string | null {
    if (video.poster) return video.poster
    const frame = frameOf(video)
    return frame && (dataUrl(frame, 'image/jpeg') ?? this.#seen(video))
  }

  readonly #changes = changesOf({
    img: (image: HTMLImageElement) => ({
      src: shownBy(image) || null,
      ...chosenPicture(image, this.#absolute),
      loading: null,
    }),
    iframe: () => ({ src: null, srcdoc: null, loading: null, [FRAME_MARK]: '' }),
    frame: () => ({ src: null, [FRAME_MARK]: '' }),
    object: (object: HTMLObjectElement) => ({ data: this.#absolute(object.data), [FRAME_MARK]: '' }),
    embed: (embed: HTMLEmbedElement) => ({ src: this.#absolute(embed.src), [FRAME_MARK]: '' }),
    video: (video: HTMLVideoElement) => ({ src: null, autoplay: null, poster: this.#poster(video) }),
    audio: () => ({ src: null, autoplay: null }),
    canvas: (canvas: HTMLCanvasElement) => {
      const drawn = dataUrl(canvas) ?? this.#seen(canvas)
      const shown = `;background:url("${drawn}") 0 0/100% 100% no-repeat content-box`
      return drawn ? { style: (canvas.getAttribute('style') ?? '') + shown } : {}
    },
    input: (input: HTMLInputElement) => {
      if (input.type === 'image') return { src: this.#absolute(input.src) }
      if (input.type === 'checkbox' || input.type === 'radio') return { checked: input.checked ? '' : null }
      return { value: input.type === 'password' || input.type === 'file' ? null : input.value || null }
    },
    option: (option: HTMLOptionElement) => ({ selected: option.selected ? '' : null }),
  })
}

/** Chosen by the name of an element, which determines its type. */
function changesOf(changes: Readonly<Record<string, (element: never) => Changes>>) {
  return new Map(Object.entries(changes) as [string, (element: Element) => Changes][])
}
