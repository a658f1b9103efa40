/** The visible text of an element; '' for one that is not HTML. */
export const shownText = (element: Element | null): string =>
  // biome-ignore lint/performance/useDomNodeTextContent: what styles hide is not shown
  (element as Partial<HTMLElement> | null)?.innerText ?? ''
