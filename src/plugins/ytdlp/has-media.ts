import { scanHtml } from '../../browse/html/scan-html.ts'

/** A first check, which costs next to nothing: most pages have none of these. */
const HINT = /<(?:video|audio|iframe)\b|\b(?:og|twitter):(?:video|audio|player)|"(?:Video|Audio)Object"/i
const NAMES: ReadonlySet<string> = new Set(['video', 'audio', 'iframe', 'meta', 'script'])
const PLAYER = /(?:^|[./-])(?:player|embed|embeds|plugins\/video\.php)(?:[./?-]|$)/i
const OBJECT = /"@type"\s*:\s*(?:\[[^\]]*)?"(?:Video|Audio)Object"/

/** Whether a page shows, plays, embeds or announces video or audio. */
export function hasMedia(html: string): boolean {
  if (!HINT.test(html)) return false
  let found = false
  let isData = false
  scanHtml(html, {
    names: NAMES,
    open(name, attributes) {
      isData = name === 'script' && attributes.get('type') === 'application/ld+json'
      const property = attributes.get('property') ?? attributes.get('name') ?? ''
      found ||=
        name === 'video' ||
        name === 'audio' ||
        (name === 'iframe' && PLAYER.test(attributes.get('src') ?? attributes.get('data-src') ?? '')) ||
        (name === 'meta' && /^(?:og:(?:video|audio)|twitter:player)(?::|$)/i.test(property))
    },
    text(piece) {
      found ||= isData && OBJECT.test(piece)
    },
    close() {
      isData = false
    },
    done: () => found,
  })
  return found
}
