/** A copy of the same URL: when it was made, its outcome, its path, and the other node that has it, if any. */
export type Copy = readonly [at: string, outcome: string, path: string, node?: string]

declare global {
  interface Window {
    /** Called by chunks of the index, which are scripts. */
    pages: (chunk: number, text: string) => void
    copies: (list: readonly Copy[]) => void
  }
}

/** What has arrived: it may come before the page itself is complete. */
export const arrivals = {
  chunks: new Map<number, string>(),
  copies: [] as readonly Copy[],
  onChunk: (_chunk: number) => {},
}

/** Handles everything that arrives from now on. */
export function takeArrivals(): void {
  window.pages = (chunk, text) => {
    arrivals.chunks.set(chunk, text)
    arrivals.onChunk(chunk)
  }
  window.copies = (list) => {
    arrivals.copies = list
  }
}
