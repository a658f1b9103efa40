import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withPrograms } from '../../support/bare-path.ts'
import { type GitServer, startGit } from '../../support/git-server.ts'
import { files, json, read, run, snapshot, useHookRuns } from '../../support/hook-runs.ts'
import { eventually } from '../../support/program.ts'
import { bytes, type Routes, type Site, startSite } from '../../support/site.ts'

useHookRuns()

const PICTURE = readFileSync(new URL('../../fixtures/pictures/harbour.jpg', import.meta.url))
const YTDLP = withPrograms('yt-dlp')
const FEED = `<?xml version="1.0"?><rss><channel><title>News</title>
  <item><title>One &amp; only</title><link>/one</link><category>sea</category>
    <pubDate>Mon, 01 May 2023 10:00:00 GMT</pubDate></item>
  <item><title>Two</title><link>https://a.test/two#top</link></item>
  <item><link>mailto:a@a.test</link></item></channel></rss>`
const DATA_FEED = { version: 'https://jsonfeed.org/version/1.1', items: [{ id: '1', url: 'https://a.test/1' }] }
const clip = Buffer.concat([Buffer.from('\0\0\0\x18ftypisom\0\0\x02\0isomiso2', 'latin1'), Buffer.alloc(50_000, 1)])

const ROUTES: Routes = {
  '/harbour.jpg': bytes('image/jpeg', PICTURE),
  '/broken.pdf': bytes('application/pdf', '%PDF-1.4 and then nothing of it'),
  '/feed.xml': bytes('application/rss+xml', FEED),
  '/feed.json': bytes('application/feed+json', JSON.stringify(DATA_FEED)),
  '/list.jsonl': bytes('application/x-ndjson', '{"url":"https://a.test/1","title":"T","tags":["x","y"]}\nbroken\n'),
  '/notes.md': bytes('text/markdown', 'See [this](https://a.test/1), README.md and https://a.test/2.'),
  '/style.css': bytes('text/css', '/* https://a.test/licence */'),
  '/packed.bin': bytes('application/octet-stream', Buffer.from('\0\x01 https://a.test/1')),
  '/video.html': `<title>Clip</title><p>words<video src="/clip.mp4"><track src="/s.vtt" srclang="en"></video>`,
  '/twins.html': `<title>${'Twin '.repeat(40)}</title><video src="/clip.mp4"></video><video src="/clip-2.mp4"></video>`,
  '/player.html': '<title>Player</title><p>words<video></video>',
  '/clip.mp4': bytes('video/mp4', clip),
  '/clip-2.mp4': bytes('video/mp4', Buffer.concat([clip, clip])),
  '/s.vtt': bytes('text/vtt', 'WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n'),
  '/save/https://a.test/page': (_request, response) => {
    response.writeHead(302, { location: '/web/20230501101112/https://a.test/page' }).end()
  },
  '/web/20230501101112/https://a.test/page': '<p>copy',
  '/save/https://a.test/busy': (_request, response) => response.writeHead(429, { 'retry-after': '60' }).end(),
  '/save/https://a.test/refused': (_request, response) => response.writeHead(403).end(),
  '/save/https://a.test/odd': '<p>no copy',
}

let own: Site
let git: GitServer
beforeAll(async () => {
  git = startGit()
  const paths = ['info/refs', 'git-upload-pack', 'HEAD']
  const served = ['tool', 'no-head', 'large', 'empty', 'none'].flatMap((name) =>
    paths.map((path) => `/${name}.git/${path}`),
  )
  own = await startSite({ ...ROUTES, ...Object.fromEntries(served.map((path) => [path, git.answer])) })
})
afterAll(async () => {
  git.close()
  await own.close()
})

/** Runs a hook on a file that staticfile has saved. */
async function onFile(plugin: string, path: string, env: Record<string, string> = {}) {
  await run('headers', own.url + path)
  await run('staticfile', own.url + path)
  return await run(plugin, own.url + path, { EXTRA_CONTEXT: '{"snapshot_depth":1}', ...env })
}

describe('a file', () => {
  it('that is a PDF gives its text and what it says about itself', async () => {
    expect(await onFile('pdftext', '/document.pdf')).toMatchObject({
      status: 'succeeded',
      output: 'pdftext/content.txt',
    })
    expect(read('pdftext/content.txt')).toContain('An evening on the coast')
    expect(json('pdftext/metadata.json')).toMatchObject({
      file: 'staticfile/document.pdf',
      title: 'An evening on the coast: a checklist',
      pages: 1,
      pages_without_text: 0,
    })
  })

  it('that is no PDF, or a damaged or large one, gives none', async () => {
    expect(await onFile('pdftext', '/document.pdf', { PDFTEXT_MAX_SIZE: '100' })).toMatchObject({
      status: 'noresults',
      output: 'larger than 100 bytes (PDFTEXT_MAX_SIZE)',
    })
    expect(await onFile('exif', '/document.pdf')).toMatchObject({ status: 'noresults', output: 'not a picture' })
  })

  it('that is a damaged PDF fails', async () => {
    expect(await onFile('pdftext', '/broken.pdf')).toMatchObject({
      status: 'failed',
      output: expect.stringMatching(/^a damaged PDF: /) as string,
    })
  })

  it('that is a picture tells its camera, date and place', async () => {
    expect(await onFile('exif', '/harbour.jpg')).toMatchObject({ status: 'succeeded', output: 'exif/exif.json' })
    expect(json('exif/exif.json')).toMatchObject({
      ...{ file: 'staticfile/harbour.jpg', type: 'jpg', width: 96, height: 64, orientation: 6 },
      camera: { make: 'Lighthouse', model: 'Model 7', lens: '35mm f/2' },
      taken_at: '2023-05-01T19:11:12+02:00',
      gps: { latitude: expect.closeTo(53.5417, 3) as number, longitude: -8.1, altitude: 12 },
      ...{ description: 'The harbour at seven', author: 'Ada Keeper' },
    })
    expect(await run('pdftext', `${own.url}/harbour.jpg`)).toMatchObject({ status: 'noresults', output: 'not a PDF' })
  })

  it.each([
    ['parse_rss_urls', '/feed.xml', ['{own}/one', 'https://a.test/two']],
    ['parse_rss_urls', '/feed.json', ['https://a.test/1']],
    ['parse_jsonl_urls', '/list.jsonl', ['https://a.test/1']],
    ['parse_txt_urls', '/notes.md', ['https://a.test/1', 'https://a.test/2']],
    ['parse_txt_urls', '/feed.xml', []],
    ['parse_jsonl_urls', '/feed.json', []],
    ['parse_txt_urls', '/style.css', []],
    ['parse_txt_urls', '/packed.bin', []],
    ['parse_txt_urls', '/document.pdf', []],
  ])('by %s: %s leads to %j', async (plugin, path, urls) => {
    const { status, records, output } = await onFile(plugin, path)
    const expected = urls.map((url) => url.replace('{own}', own.url))
    expect(records.map(({ url }) => url)).toEqual(expected)
    expect({ status, output }).toEqual({
      status: urls.length > 0 ? 'succeeded' : 'noresults',
      output: `${urls.length} URLs parsed`,
    })
    expect(files().includes(`${plugin}/urls.jsonl`)).toBe(urls.length > 0)
    for (const record of records) expect(record).toMatchObject({ type: 'Snapshot', plugin, depth: 2 })
  })

  it('that lists pages says what it knows of them, and no more of them than are wanted', async () => {
    const { records, output } = await onFile('parse_rss_urls', '/feed.xml', { PARSE_RSS_URLS_MAX_URLS: '1' })
    expect(output).toBe('1 URLs parsed (PARSE_RSS_URLS_MAX_URLS)')
    expect(records).toEqual([
      {
        ...{ type: 'Snapshot', url: `${own.url}/one`, plugin: 'parse_rss_urls', depth: 2 },
        ...{ title: 'One & only', tags: 'sea', bookmarked_at: '2023-05-01T10:00:00.000Z' },
      },
    ])
  })
})

describe('a repository', () => {
  it('is kept as a bundle with its history', async () => {
    expect(await run('git', `${own.url}/tool.git`)).toMatchObject({ status: 'succeeded', output: 'git/tool.bundle' })
    expect(files()).toEqual(['git/repository.json', 'git/tool.bundle'])
    expect(json('git/repository.json')).toMatchObject({
      branch: 'main',
      commits: 2,
      branches: 1,
      tags: 1,
      has_lfs: false,
    })
    const log = ['clone', '--quiet', join(snapshot, 'git/tool.bundle'), join(snapshot, 'clone')]
    execFileSync('git', log)
    expect(readFileSync(join(snapshot, 'clone/two.txt'), 'utf8')).toBe('two.txt\n')
  })

  it('whose current branch is missing is kept with the others', async () => {
    expect(await run('git', `${own.url}/no-head.git`)).toMatchObject({ status: 'succeeded' })
    expect(json('git/repository.json')).toMatchObject({ head: null, branch: 'master', commits: 2, branches: 1 })
    const clone = ['clone', '--quiet', '--branch=main', join(snapshot, 'git/no-head.bundle'), join(snapshot, 'clone')]
    execFileSync('git', clone)
    expect(readFileSync(join(snapshot, 'clone/two.txt'), 'utf8')).toBe('two.txt\n')
  })

  it('whose large files lie elsewhere is kept without them, and says so', async () => {
    const output = 'git/large.bundle, without its files in Git LFS'
    expect(await run('git', `${own.url}/large.git`)).toMatchObject({ status: 'succeeded', output })
    expect(json('git/repository.json')).toMatchObject({ file: 'git/large.bundle', has_lfs: true })
  })

  it('without its history is kept as an archive of its files', async () => {
    const args = { GIT_ARGS_EXTRA: '["--depth=1"]' }
    expect(await run('git', `${own.url}/tool.git`, args)).toMatchObject({ output: 'git/tool.tar.gz' })
    const list = execFileSync('tar', ['tzf', join(snapshot, 'git/tool.tar.gz')], { encoding: 'utf8' })
    expect(list.trim().split('\n')).toEqual(['tool/', 'tool/one.txt', 'tool/two.txt'])
  })

  it.each([
    ['/tool.git', { GIT_MAX_SIZE: '100' }, 'failed', 'larger than 100 bytes (GIT_MAX_SIZE)'],
    ['/none.git', {}, 'failed', /^no repository at http/],
    ['/empty.git', {}, 'noresults', 'an empty repository'],
    ['/ada/tool', { GIT_DOMAINS: '{host}' }, 'noresults', /^no repository that is open to all at http/],
    ['/ada/tool', {}, 'noresults', 'not the URL of a repository'],
    ['/tool.git', { BLOCK_PRIVATE_ADDRESSES: 'True' }, 'failed', /^git: .* returned error: 403|^HTTP 403/],
    ['/tool.git', { GIT_BINARY: 'no-such-git' }, 'skipped', /^no-such-git not found: .* install git$/],
  ])('at %s with %j is %s: %s', async (path, env, status, output) => {
    const host = new URL(own.url).host
    const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value.replace('{host}', host)]))
    const result = await run('git', own.url + path, filled)
    expect(result).toMatchObject({ status })
    expect(result.output).toMatch(output)
    expect(files()).toEqual([])
  })

  it('runs no hook of a user, and reads no file of this machine', async () => {
    const env = { HOME: snapshot, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.hooksPath', GIT_CONFIG_VALUE_0: '/' }
    expect(await run('git', `${own.url}/tool.git`, env)).toMatchObject({ status: 'succeeded' })
    const local = { GIT_ARGS: `["clone", "--bare", "file://${snapshot}/x.git"]` }
    expect(await run('git', `${own.url}/tool.git`, local)).toMatchObject({ status: 'failed' })
  })
})

describe.skipIf(YTDLP.missing)(`media ${YTDLP.missing || ''}`, () => {
  it('of a page are saved with subtitles and what is known of them', async () => {
    const result = await run('ytdlp', `${own.url}/video.html`, { PATH: YTDLP.path })
    expect(result).toMatchObject({
      status: 'succeeded',
      output: expect.stringMatching(/^ytdlp\/Clip.*\.mp4$/) as string,
    })
    expect(readFileSync(join(snapshot, result.output)).equals(clip)).toBe(true)
    expect(files().map((path) => path.replace(/^ytdlp\/[^.]+/, ''))).toEqual(
      expect.arrayContaining(['.info.json', '.mp4']),
    )
    expect(files().join()).toMatch(/\.en\.(?:vtt|srt)/)
  })

  it('of one title are all saved', async () => {
    expect(await run('ytdlp', `${own.url}/twins.html`, { PATH: YTDLP.path })).toMatchObject({ status: 'succeeded' })
    const videos = files().filter((path) => path.endsWith('.mp4'))
    expect(videos.map((path) => readFileSync(join(snapshot, path)).length)).toEqual([50_024, 100_048])
  })

  it('that are too large fail, and a player without media has none', async () => {
    expect(
      await run('ytdlp', `${own.url}/video.html`, {
        PATH: YTDLP.path,
        YTDLP_MAX_SIZE: '20kb',
      }),
    ).toMatchObject({
      status: 'failed',
      output: 'larger than 20 kB (YTDLP_MAX_SIZE)',
    })
    expect(await run('ytdlp', `${own.url}/player.html`, { PATH: YTDLP.path })).toMatchObject({
      status: 'noresults',
      output: 'no media that yt-dlp can save',
    })
    expect(files()).toEqual([])
  })
})

describe('media that yt-dlp is not done with', () => {
  /** Ends yt-dlp for this reason while it downloads the second video. */
  async function endedBy(reason: Error) {
    const program = join(snapshot, 'yt-dlp')
    const wrote = ['One.mp4', 'One.fr.vtt', 'Two.mp4.part', 'Two.mp4.ytdl', 'Two.temp.mp4', 'Two.info.json.x1.tmp']
    const script = `#!/bin/sh\nfor each in ${wrote.join(' ')}; do echo it >$each; done\n>../begun\nexec sleep 600\n`
    writeFileSync(program, script, { mode: 0o755 })
    const stop = new AbortController()
    const ended = run('ytdlp', `${own.url}/video.html`, { YTDLP_BINARY: program }, stop.signal)
    await eventually(() => existsSync(join(snapshot, 'ytdlp/begun')))
    rmSync(join(snapshot, 'ytdlp/begun'))
    stop.abort(reason)
    const { status, output, json } = await ended
    return { status, output, json, kept: files(join(snapshot, 'ytdlp')) }
  }

  it('when its time is over leave what is finished', async () => {
    expect(await endedBy(new DOMException('', 'TimeoutError'))).toMatchObject({
      ...{ status: 'failed', output: 'timed out after 60 s', json: { served: 'ytdlp/One.mp4' } },
      kept: ['One.fr.vtt', 'One.mp4'],
    })
  })

  it('when it is stopped leave nothing', async () => {
    expect(await endedBy(new Error('stop'))).toMatchObject({ status: 'failed', kept: [] })
  })
})

describe('media without yt-dlp', () => {
  it('are skipped, with the command that installs it', async () => {
    expect(await run('ytdlp', `${own.url}/video.html`, { PATH: '/nowhere' })).toMatchObject({
      status: 'skipped',
      output: 'yt-dlp not found: archivebox-ts plugin install ytdlp',
    })
  })
})

describe('the Wayback Machine', () => {
  it.each([
    ['/page', 'succeeded', '{own}/web/20230501101112/https://a.test/page'],
    ['/busy', 'backoff', '{host}: HTTP 429 Too Many Requests'],
    ['/refused', 'failed', '{host}: HTTP 403 Forbidden'],
    ['/odd', 'failed', '{host}: no copy was made'],
  ])('that is asked for a copy of %s: %s, %s', async (path, status, output) => {
    const { host } = new URL(own.url)
    const said = output.replace('{own}', own.url).replace('{host}', host)
    const result = await run('archivedotorg', `https://a.test${path}`, { ARCHIVEDOTORG_URL: `${own.url}/` })
    expect(result).toMatchObject({ status, output: said })
    const file = join(snapshot, 'archivedotorg/archive.org.txt')
    expect(existsSync(file) && readFileSync(file, 'utf8')).toBe(status === 'succeeded' && `${said}\n`)
  })

  it('is not asked for what only this network has', async () => {
    expect(await run('archivedotorg', 'http://127.0.0.1:1/')).toMatchObject({ status: 'noresults' })
    for (const url of ['https://me:secret@a.test/', 'https://a.test/?access_token=x'])
      expect(await run('archivedotorg', url, { ARCHIVEDOTORG_URL: own.url })).toMatchObject({
        ...{ status: 'skipped', output: 'its URL has a password or token, which nobody else is told' },
      })
  })
})
