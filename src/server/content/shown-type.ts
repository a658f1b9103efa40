/** How a file is sent; `file`: to be saved, not shown. */
export type Sent = 'html' | 'svg' | 'pdf' | 'plain' | 'file'

/** How a file is sent, and its type. */
export interface ShownType {
  readonly sent: Sent
  /** The Content-Type. */
  readonly type: string
}

const HTML = /\.(?:[xps]?html?|xht|htc)$/i
/** XML may refer to styles, scripts and pictures anywhere, and make markup of its entities: it is shown as text. */
const XML = /\.(?:xml|rss|atom|rdf|xslt?|xsd|mml|xul|opml|kml|gpx|wsdl)$/i
export const TEXT = 'text/plain; charset=utf-8'

/** All types that a browser may show, by the ends of names. Any other is sent as a file. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ...['txt', 'md', 'csv', 'tsv', 'log', 'srt', 'jsonl', 'yaml', 'yml', 'js', 'mjs', 'cjs'].map(
    (end) => [end, TEXT] as const,
  ),
  ...Object.entries({
    ...{ css: 'text/css', json: 'application/json; charset=utf-8', vtt: 'text/vtt; charset=utf-8' },
    ...{ apng: 'image/apng', avif: 'image/avif', bmp: 'image/bmp', gif: 'image/gif', ico: 'image/x-icon' },
    ...{ jpeg: 'image/jpeg', jpg: 'image/jpeg', png: 'image/png', webp: 'image/webp', jxl: 'image/jxl' },
    ...{ woff: 'font/woff', woff2: 'font/woff2', ttf: 'font/ttf', otf: 'font/otf' },
    ...{ aac: 'audio/aac', flac: 'audio/flac', m4a: 'audio/mp4', mp3: 'audio/mpeg', oga: 'audio/ogg' },
    ...{ ogg: 'audio/ogg', opus: 'audio/ogg', wav: 'audio/wav', weba: 'audio/webm' },
    ...{ m4v: 'video/mp4', mkv: 'video/x-matroska', mov: 'video/quicktime', mp4: 'video/mp4' },
    ...{ ogv: 'video/ogg', webm: 'video/webm' },
  }),
])
/** The same by the type in a row, where the name does not tell. */
const BY_TYPE: ReadonlyMap<string, string> = new Map([...TYPES.values()].map((type) => [type.split(';', 1)[0]!, type]))

/**
 * How a file is sent, judged by its name and by the type in its row. If either makes it a document, it is that, and
 * nothing else.
 */
export function shownType(path: string, mimetype: string): ShownType {
  // As wget saves it, the query of a URL is part of the name.
  const names = [path, path.replace(/[?@][^/]*$/, '')]
  const isNamed = (pattern: RegExp) => names.some((name) => pattern.test(name))
  const type = mimetype.split(';', 1)[0]!.trim().toLowerCase()
  if (/^(?:text\/html|application\/xhtml\+xml)$/.test(type) || isNamed(HTML))
    return { sent: 'html', type: 'text/html; charset=utf-8' }
  if (isNamed(/\.svg$/i) || type === 'image/svg+xml') return { sent: 'svg', type: 'image/svg+xml' }
  if (/[/+]xml$/.test(type) || isNamed(XML)) return { sent: 'plain', type: TEXT }
  if (isNamed(/\.pdf$/i)) return { sent: 'pdf', type: 'application/pdf' }
  const ends = names.map((name) => /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? '')
  const shown = ends.map((end) => TYPES.get(end)).find((found) => found !== undefined) ?? BY_TYPE.get(type)
  return shown ? { sent: 'plain', type: shown } : { sent: 'file', type: 'application/octet-stream' }
}
