/** The few parts of an element that are used here. */
export interface Element {
  readonly nodeName: string
  readonly textContent: string | null
  readonly parentNode: Element | null
  getAttribute(name: string): string | null
  closest(selector: string): Element | null
  querySelector(selector: string): Element | null
}
