/** How a file is sent; `file`: to be kept, not to be shown. */
export type Sent = 'html' | 'svg' | 'pdf' | 'plain' | 'file'

/** How a file is sent, and what it is called. */
export interface ShownType {
  readonly sent: Sent
  /** The Content-Type. */
  readonly type: string
}

const HTML = /\.(?:[xps]?html?|xht|htc)$/i
/** XML may name styles, scripts and pictures anywhere, and make markup of its entities: its text is shown. */
const XML = /\.(?:xml|rss|atom|rdf|xslt?|xsd|mml|xul|opml|kml|gpx|wsdl)$/i
export const TEXT = 'text/plain; charset=utf-8'

/** All that a browser is let show, by the ends of names. A type that is not here is a file. */
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
/** The same by what a row says, where the name says nothing. */
const BY_TYPE: ReadonlyMap<string, string> = new Map([...TYPES.values()].map((type) => [type.split(';', 1)[0]!, type]))

/**
 * How a file is sent, by its name and by the type that its row has. What one of the two makes a document of is that,
 * and never anything else.
 */
export function shownType(path: string, mimetype: string): ShownType {
  // As wget saves it, the query of a URL stands in the name.
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
