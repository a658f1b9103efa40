import { foreign, html } from './html.ts'

/**
 * The page of a snapshot or crawl that cannot be shown like others: where its files are. It uses nothing that a page
 * could have broken.
 * @param why in one line
 */
export function plainPage(name: string, why: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'">
<title>${name}</title>
</head>
<body>
<h1>${foreign(name)}</h1>
<p>${foreign(why)}</p>
<p>Nothing of it is lost: all of it is <a href="./">in this folder</a>.</p>
</body>
</html>
`.text
}
