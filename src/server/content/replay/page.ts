import { PUBLISHED } from '../../../app/replay/published.ts'
import { foreign, html } from '../../../pages/html.ts'
import { href } from '../../../pages/links.ts'

const STYLE = `html { color-scheme: light dark }
html, body { height: 100%; margin: 0; font: 0.875rem system-ui, sans-serif }
body { display: flex; flex-direction: column; overflow: hidden }
header { padding: 0.25rem 1rem; font-size: 0.75rem; border-bottom: 1px solid #8884 }
main { flex: 1; min-height: 0; overflow: hidden }
#said { padding: 2rem; margin: 0 }
iframe[hidden] { display: none }`

/** The page that replays a file of a capture. @param url of the page that was archived */
export function replayPage(url: string, path: string): string {
  const { name, version, source } = PUBLISHED
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Replay of ${url}</title><style>${STYLE}</style></head>
<body data-url="${url}" data-source="/file/${href(path)}">
<header>Replay of ${foreign(url)}, by ${name} ${version} (<a href="/replay/LICENSE">AGPL</a>, source:
<code>${source}</code>)</header>
<main><p id="said" role="status">The replay begins.</p></main>
<script src="/replay/ui.js"></script><script src="/page.js"></script>
</body></html>
`.text
}
