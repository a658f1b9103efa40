import type { OriginStorage } from '../persona/storage.ts'

/** The scripts that run in a page, by the names of their files, with their parameters and results, all of them JSON. */
export interface Scripts {
  /** Runs before any script of a page. */
  readonly 'before-scripts': () => void
  /**
   * Shows and loads all of a page, in at most so many milliseconds.
   * @param presses buttons that say "more"
   * @param from pixels from the top that were shown before
   * @returns how many have been shown by now
   */
  readonly settle: (ms: number, presses: boolean, from: number) => Promise<number>
  /** Hides overlays. @param listed selectors of consent banners @returns selectors of what was hidden */
  readonly 'hide-overlays': (listed: readonly string[]) => string[]
  /** For pictures and printing: makes a scrolling box that fills the window as tall as its content. */
  readonly unroll: () => void
  /** For printing: shows fixed elements on the first sheet only. */
  readonly unpin: () => void
  /** For a picture: finishes transitions and animations. */
  readonly finish: () => void
  /** Serializes the present document, with its shadow roots as declarative ones. */
  readonly serialize: () => string
  readonly 'frame-html': () => FrameHtml
  /** Empties the fields that match this selector in all documents, shadow roots and templates. */
  readonly 'empty-fields': (selector: string) => void
  /** Looks in the page, its shadow roots, and its frames of the same site. */
  readonly 'has-password-field': () => boolean
  /** Runs before the scripts of a page: adds missing items to the storage of its origin. */
  readonly 'fill-storage': (origins: readonly OriginStorage[]) => void
}

/** A frame's document as it is shown now, for a file that needs neither scripts nor a network. */
export interface FrameHtml {
  readonly html: string
  /** The base of relative URLs in `style` elements and attributes. */
  readonly base: string
  /** Names for the pictures that must be taken of the elements in `picturedOfPage`, which the script cannot read. */
  readonly pictured: readonly string[]
  /** The number of elements with FRAME_MARK. */
  readonly framing: number
}
