import { Readable } from 'node:stream'
import * as robotsParser from 'robots-parser'
import { harmless, oneLine } from '../../src/base/clean.ts'
import { marked, unmarked } from '../../src/base/formula-mark.ts'
import { mimeOf } from '../../src/base/mime.ts'
import { storableLine } from '../../src/base/storable-line.ts'
import { urlDetails } from '../../src/base/url-details.ts'
import { hasUrlSecrets, withoutUrlSecrets } from '../../src/base/url-secrets.ts'
import { archivableUrl, domainOf } from '../../src/base/urls.ts'
import { isVisible } from '../../src/base/words.ts'
import { singleFile } from '../../src/browse/browser/single-file.ts'
import { encodingOf, pageForDisk, UNDECLARED } from '../../src/browse/html/charset.ts'
import { pageTitle } from '../../src/browse/html/page-title.ts'
import { isBlank } from '../../src/browse/http/body.ts'
import { isPage, looksLikeHtml, parseContentType } from '../../src/browse/http/content-type.ts'
import { ChainCookies, withoutValues } from '../../src/browse/http/cookies.ts'
import { fileName } from '../../src/browse/http/file-name.ts'
import { retryAfterSeconds } from '../../src/browse/http/retry-after.ts'
import { inertCss } from '../../src/browse/inert/css.ts'
import { isPrivateAddress, isPrivateName } from '../../src/browse/network/private-host.ts'
import { parseCookiesJson } from '../../src/browse/persona/cookies-json.ts'
import { parseCookiesTxt } from '../../src/browse/persona/cookies-txt.ts'
import { cdxj } from '../../src/browse/warc/cdxj.ts'
import { requestHead, responseHead } from '../../src/browse/warc/http-message.ts'
import { linesIn } from '../../src/browse/warc/index-line.ts'
import { cutMiddle, cutUrl } from '../../src/cli/screen/fit.ts'
import { wrapped } from '../../src/cli/screen/flow.ts'
import { recordsOf } from '../../src/hooks/records.ts'
import { delimiterOf } from '../../src/importers/csv.ts'
import { dateOf } from '../../src/importers/dates.ts'
import { decoded } from '../../src/importers/decode.ts'
import { formatOf } from '../../src/importers/detect.ts'
import { tagsOf, tagsOfFolder } from '../../src/importers/fields.ts'
import { FORMATS } from '../../src/importers/formats.ts'
import { readEntries } from '../../src/importers/read.ts'
import { withScheme } from '../../src/importers/scheme.ts'
import { urlsInLine } from '../../src/importers/text.ts'
import { causeOf, isConsequence, neededBy } from '../../src/machines/cause.ts'
import { foreign } from '../../src/pages/html.ts'
import { parseChunk } from '../../src/pages/index-chunk.ts'
import { data } from '../../src/pages/layout.ts'
import { href } from '../../src/pages/links.ts'
import { crawlName } from '../../src/pages/model/crawl-name.ts'
import { isClosed } from '../../src/pages/packed-copies.ts'
import { dataUrlBytes } from '../../src/plugins/favicon/data-url.ts'
import { iconUrl } from '../../src/plugins/favicon/icon-url.ts'
import { isImage } from '../../src/plugins/favicon/image-type.ts'
import { repositoryAt } from '../../src/plugins/git/repository-url.ts'
import { textOf } from '../../src/plugins/htmltotext/text-of.ts'
import { frontMatter, mainPart } from '../../src/plugins/markdown/article.ts'
import { toMarkdown } from '../../src/plugins/markdown/to-markdown.ts'
import { tooMuch } from '../../src/plugins/markdown/too-much.ts'
import { findLinks } from '../../src/plugins/parse_html_urls/find-links.ts'
import { extractArticle } from '../../src/plugins/readability/extract-article.ts'
import { inertArticle } from '../../src/plugins/readability/inert-article.ts'
import { openShadowRoots } from '../../src/plugins/readability/shadow-roots.ts'
import { surveyPage } from '../../src/plugins/readability/survey.ts'
import { aboutItself } from '../../src/plugins/seo/about-itself.ts'
import { failureReason, isAnswered, savedPage, withoutCookies } from '../../src/plugins/wget/wget-log.ts'
import { hasMedia } from '../../src/plugins/ytdlp/has-media.ts'
import { outcomeOf } from '../../src/plugins/ytdlp/outcome.ts'

/** What reads text from elsewhere, and what stands around the adversarial part of it. */
export interface Parser {
  readonly name: string
  readonly run: (text: string) => unknown
  readonly around: readonly (readonly [before: string, after: string])[]
}

/** Its declarations are those of another module system. */
const robots = robotsParser.default as unknown as (
  file: string,
  text: string,
) => { isDisallowed(url: string, agent: string): boolean }

const PAGE = 'http://a.example/b?c'
const AT = new Date(0)
const ANYWHERE: Parser['around'] = [
  ['', ''],
  ['', 'x'],
  ['x', '>"\n x'],
]
const IN_HTML: Parser['around'] = [...ANYWHERE, ['<pre>', 'x'], ['<p>', '</p>']]
const IN_JSON: Parser['around'] = [...ANYWHERE, ['[', 'x'], ['[{"url":"', '"}]']]

const parser = (name: string, run: Parser['run'], around = ANYWHERE): Parser => ({ name, run, around })
const onHtml = (name: string, run: Parser['run']): Parser => parser(name, run, IN_HTML)

async function imported(text: string, format?: (typeof FORMATS)[number]): Promise<void> {
  for await (const _ of readEntries(Readable.from(pieces(text, 65_536)), format));
}

function pieces(text: string, size: number): Buffer[] {
  const bytes = Buffer.from(text)
  const count = Math.ceil(bytes.length / size)
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size))
}

async function decodedInPieces(text: string): Promise<void> {
  for await (const _ of decoded(Readable.from(pieces(text, 1_024))));
}

const exitOf = (log: string) => ({ code: 1, signal: null, log }) as Parameters<typeof outcomeOf>[0]

async function cookies(text: string): Promise<void> {
  const chain = await ChainCookies.with([])
  await chain.take([text, `a=b; ${text}`], new URL(PAGE))
  chain.header(new URL(PAGE))
}

function article(text: string): unknown {
  const survey = surveyPage(text)
  return survey.tooComplex === undefined ? extractArticle(openShadowRoots(text), PAGE, survey) : undefined
}

function onePage(html: string): string {
  const page = { html, base: PAGE, frames: new Map() }
  return [...singleFile({ page, files: new Map(), leftOut: 0 }, PAGE)].join('')
}

const indexed = (type: string) => (text: string) => {
  const request = { method: 'POST', headers: [['content-type', type]] as const, body: Buffer.from(text) }
  const sizes = { status: 200, digest: '', offset: 0, length: 0 }
  return cdxj([{ url: `${PAGE}&${encodeURI(text.toWellFormed())}`, at: AT, mime: text, ...sizes, request }], 'a')
}

/** All of them. Those of libraries get what we give them: as much of it, and not what was found too much. */
export const PARSERS: readonly Parser[] = [
  ...FORMATS.filter((format) => format !== 'history').map((format) => {
    const heads = { rss: '<rss><channel><item>', opml: '<opml><body>', csv: 'url,title\n', json: '[', jsonl: '{' }
    const head = new Map(Object.entries(heads)).get(format) ?? ''
    const around = format.startsWith('json') ? IN_JSON : IN_HTML
    const headed = around.map(([before, after]) => [`${head}${before}`, after] as const)
    return parser(`import ${format}`, (text) => imported(text, format), [...headed, [`${head}"`, 'x']])
  }),
  parser('import by its beginning', (text) => imported(text), [...IN_HTML, ...IN_JSON]),
  parser('encoding of a list', decodedInPieces),
  parser('URLs in a line', urlsInLine),
  parser('delimiter', delimiterOf),
  parser('format', formatOf),
  parser('tags', (text) => tagsOf(text)),
  parser('tags of a folder', tagsOfFolder),
  parser('date', dateOf),
  parser('scheme', withScheme),
  parser('archivable URL', (text) => archivableUrl(`http://a/${text}`)),
  parser('domain', (text) => domainOf(`http://a/${text}`)),
  parser('details', (text) => urlDetails({ title: text, tags: [text, ...text.split(' ')], notes: text })),
  parser('cookies.txt', (text) => parseCookiesTxt(text, 'f')),
  parser('cookies.json', (text) => parseCookiesJson(text, 'f'), IN_JSON),
  parser('media type of a name', mimeOf),
  parser('line for a terminal', oneLine, [...ANYWHERE, ['\u001b', 'x'], ['\u001b]', '']]),
  parser('text for a terminal', harmless, [...ANYWHERE, ['\u001b', 'x'], ['\u001b]', '']]),
  parser('lines for a terminal', (text) => wrapped(text, 80)),
  parser('cut URL', (text) => cutUrl(text, 40)),
  parser('cut text', (text) => cutMiddle(text, 40)),
  parser('cause', (text) => causeOf('p', text)),
  parser('consequence', (text) => [isConsequence(text), neededBy(text)]),
  parser('chunk of the index', (text) => parseChunk(`pages(1,${JSON.stringify(text)})\n`)),
  parser('damaged chunk of the index', (text) => parseChunk(`pages(1,"${text}`)),
  parser('text of a page of ours', (text) => [
    ...[foreign(text), href(text), isVisible(text)],
    data({ top: text, chunks: [], total: 0 }),
  ]),
  parser('name of a crawl', (text) => crawlName({ label: '', urls: [text], urlsTotal: 1, firstTitle: text, pages: 1 })),
  onHtml('main part', mainPart),
  parser('URLs with secrets', (text) => [withoutUrlSecrets(text), hasUrlSecrets(`http://a/?${text}`)], [
    ...ANYWHERE,
    ['http://', '@x'],
    ['http://a/?token=', '&x'],
  ]),
  parser('formula', (text) => unmarked(marked(text)), [...ANYWHERE, ["'=", ''], ["'''", '=']]),
  parser('CSS', (text) => inertCss(text, (url) => url), [
    ...ANYWHERE,
    ['a{b:url(', ''],
    ['@import "', ''],
    ['image-set(', ''],
  ]),
  onHtml('inert article', inertArticle),
  onHtml('single file', (text) => onePage(text)),
  onHtml('styles in a single file', (text) => onePage(`<style>${text}</style><p style="${text}">`)),
  parser('front matter', (text) => frontMatter(JSON.stringify({ title: text, byline: text }), text)),
  onHtml('Markdown', (text) => (tooMuch(text) === undefined ? toMarkdown(text) : undefined)),
  onHtml('text', textOf),
  onHtml('links', (text) => findLinks(text, PAGE, [], 10_000)),
  parser('repository', (text) => repositoryAt(`http://github.com/${text}`, ['github.com'])),
  parser('data URL', (text) => [dataUrlBytes(`data:${text}`), dataUrlBytes(`data:${text},x`)]),
  onHtml('icon', (text) => iconUrl(text, PAGE)),
  parser('picture', (text) => isImage(Buffer.from(text))),
  onHtml('what a page says of itself', aboutItself),
  parser('file that wget saved', (text) => [savedPage(text), isAnswered(text)]),
  parser('cookies in the log of wget', withoutCookies),
  parser('failure of wget', (text) => failureReason(exitOf(text), PAGE)),
  parser('outcome of yt-dlp', (text) => outcomeOf(exitOf(`ERROR: ${text}`), '1')),
  onHtml('media', (text) => hasMedia(`${text}<video`)),
  onHtml('survey', surveyPage),
  onHtml('article', article),
  parser('encoding', (text) => encodingOf(Buffer.from(text), UNDECLARED)),
  parser('page for the disk', (text) => pageForDisk(Buffer.from(text), 'UTF-8')),
  parser('content type', (text) => [parseContentType(text), parseContentType(`text/html;${text}`)]),
  parser('looks like HTML', (text) => looksLikeHtml(Buffer.from(text))),
  parser('is a page', (text) => isPage({ 'content-type': text, 'content-disposition': text })),
  parser('Set-Cookie without values', withoutValues),
  parser('Set-Cookie', cookies),
  parser('Content-Disposition', (text) => fileName(PAGE, text, 'text/html'), [
    ...ANYWHERE,
    ['attachment; filename="', ''],
    ['attachment; filename="', '"'],
    ["attachment; filename*=utf-8''", ''],
  ]),
  parser('name in a URL', (text) => fileName(`http://a/${encodeURI(text.toWellFormed())}`, undefined, '')),
  parser('Retry-After', (text) => retryAfterSeconds(text)),
  onHtml('title', pageTitle),
  parser('title without an end', (text) => pageTitle(`<title>${text}`)),
  parser('line of a record', (text) => storableLine(text)),
  parser('is blank', (text) => isBlank(Buffer.from(text))),
  parser('index of a WARC: JSON', indexed('application/json'), IN_JSON),
  parser('index of a WARC: form', indexed('application/x-www-form-urlencoded')),
  parser('index of a WARC: parts', indexed('multipart/form-data; boundary=-')),
  parser('lines of an index', linesIn),
  parser('heads in a WARC', (text) => [
    responseHead(200, text, [[text, text]], { size: 1, isDecoded: true }),
    requestHead('GET', PAGE, [[text, text]]),
  ]),
  parser('records', (text) => recordsOf({ logs: { stdout: '' }, stdout: text }), IN_JSON),
  parser('a record', (text) =>
    recordsOf({ logs: { stdout: '' }, stdout: `{"type":"ArchiveResult","output_json":${text}}` }),
  ),
  onHtml('is closed', isClosed),
  parser('address', (text) => [isPrivateAddress(text), isPrivateName(text)]),
  parser('robots.txt', (text) => {
    const file = text.slice(0, 512_000)
    return robots('http://a/robots.txt', `User-agent: *\nDisallow: /${file}`).isDisallowed(
      `http://a/${'a'.repeat(1_000)}`,
      'x',
    )
  }),
]
