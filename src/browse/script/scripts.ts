import type { OriginStorage } from '../persona/storage.ts'

/** What runs in a page, by the names of its files: what it takes, and what comes of it. All of it is JSON. */
export interface Scripts {
  /** Before any script of a page. */
  readonly 'before-scripts': () => void
  /** Shows and loads all of a page, in at most so many milliseconds. @param presses buttons that say "more" */
  readonly settle: (ms: number, presses: boolean) => Promise<void>
  /** Hides what covers a page. @param listed selectors of consent banners @returns selectors of what was hidden */
  readonly 'hide-overlays': (listed: readonly string[]) => string[]
  /** Before pictures and printing: what scrolls in a box that fills the window is as tall as its content. */
  readonly unroll: () => void
  /** Before printing: what is fixed to the window is on the first sheet only. */
  readonly unpin: () => void
  /** Before a picture: what fades or moves in has come to its end. */
  readonly finish: () => void
  /** The document as it is now, with its shadow roots as declarative ones. */
  readonly serialize: () => string
  readonly 'frame-html': () => FrameHtml
  /** Empties the fields that this selector finds in all documents, shadow roots and templates. */
  readonly 'empty-fields': (selector: string) => void
  /** In the page, its shadow roots, and its frames as far as they are of the same site. */
  readonly 'has-password-field': () => boolean
  /** Before the scripts of a page: fills the storage of its origin with what is not there yet. */
  readonly 'fill-storage': (origins: readonly OriginStorage[]) => void
}

/** A frame's document as it is shown now, for a file that needs neither scripts nor a network. */
export interface FrameHtml {
  readonly html: string
  /** What relative URLs in `style` elements and attributes are relative to. */
  readonly base: string
  /** Names of pictures that are to be taken of the elements in `picturedOfPage`, in which the script may not read. */
  readonly pictured: readonly string[]
  /** How many elements have FRAME_MARK. */
  readonly framing: number
}
