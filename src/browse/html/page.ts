/** A page as text, and the base of its relative links. */
export interface Page {
  readonly url: string
  readonly html: string
}
