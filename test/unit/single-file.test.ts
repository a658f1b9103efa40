import { expect, it } from 'vitest'
import { singleFile } from '../../src/plugins/base/browser/single-file.ts'

const part = (type: string, url: string, body: string) =>
  `------B\nContent-Type: ${type}\nContent-Transfer-Encoding: 8bit\nContent-Location: ${url}\n\n${body}\n`

it('a style sheet becomes part of the file as it is, and cannot end the element that it is in', () => {
  const css = 'main > * { grid-column: text } q::before { content: "</style><b>" }'
  const mhtml = [
    'Content-Type: multipart/related;\n\ttype="text/html";\n\tboundary="----B"\n\n',
    part(
      'text/html',
      'http://a.example/',
      '<html><head><link rel="stylesheet" href="http://a.example/s.css"></head></html>',
    ),
    part('text/css', 'http://a.example/s.css', css),
    '------B--\n',
  ].join('\n')
  const html = singleFile(mhtml.replaceAll('\n', '\r\n'), 'http://a.example/')
  expect(html).toContain('main > * { grid-column: text }')
  expect(html).not.toContain('</style><b>')
})
