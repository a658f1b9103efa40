/** A link to a path: each of its steps is percent-encoded. */
export function href(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

/** Where a list of pages finds them, and the chunks of the index that it consists of. */
export interface ListLinks {
  /** The page of a snapshot. @param folder its own, relative to the top of the archive */
  snapshot(folder: string): string
  /** A file in that folder. */
  fileOf(folder: string, path: string): string
  chunk(number: number): string
}

/** @param top from the page that has the list to the top of the archive */
export function listLinks(top: string): ListLinks {
  const below = (path: string) => (top === '.' ? path : `${top}/${path}`)
  return {
    snapshot: (folder) => below(`${href(folder)}/index.html`),
    fileOf: (folder, path) => below(`${href(folder)}/${href(path)}`),
    chunk: (number) => below(`archive/index/${number}.js`),
  }
}
