/** The text of an element as it is shown; '' of one that is none of HTML. */
export const shownText = (element: Element | null): string =>
  // biome-ignore lint/performance/useDomNodeTextContent: what styles hide is not shown
  (element as Partial<HTMLElement> | null)?.innerText ?? ''
