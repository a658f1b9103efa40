/** Wraps the HTML of an article into a small page of its own, so that it opens from disk with the right characters and direction. */
export function articleDocument(
  content: string,
  about: { readonly title: string; readonly lang: string | null; readonly dir: string | null },
): string {
  const lang = about.lang ? ` lang="${escaped(about.lang)}"` : ''
  const dir = about.dir ? ` dir="${escaped(about.dir)}"` : ''
  return `<!doctype html>
<html${lang}${dir}>
<head>
<meta charset="utf-8">
<title>${escaped(about.title)}</title>
</head>
<body>
${content}
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
