import { describe, expect, it } from 'vitest'
import { repositoryAt } from '../../../src/plugins/git/repository-url.ts'
import { hasMedia } from '../../../src/plugins/ytdlp/has-media.ts'
import { outcomeOf } from '../../../src/plugins/ytdlp/outcome.ts'

describe('a page', () => {
  it.each([
    ['<video src=a.mp4></video>', true],
    ['<audio><source src=a.ogg></audio>', true],
    ['<meta property="og:video:url" content="https://a.test/b">', true],
    ['<meta name="twitter:player" content="https://a.test/b">', true],
    ['<iframe src="https://www.youtube.com/embed/abc"></iframe>', true],
    ['<iframe src="https://player.vimeo.com/video/1"></iframe>', true],
    ['<script type="application/ld+json">{"@type": "VideoObject"}</script>', true],
    ['<iframe src="https://ads.test/banner"></iframe>', false],
    ['<p>Use <code>&lt;video></code> and "VideoObject"', false],
    ['<script>document.write("<video src=a>"); x = {"@type": "VideoObject"}</script>', false],
    ['<!-- <video> --><p>words', false],
    ['<meta property="og:image" content="https://a.test/b.png">', false],
  ])('of %j has media: %s', (html, has) => {
    expect(hasMedia(html)).toBe(has)
  })
})

describe('a repository', () => {
  const forges = ['github.com', 'git.sr.ht']
  it.each([
    ['https://a.test/x/tool.git', 'https://a.test/x/tool.git', 'tool'],
    ['https://a.test/tool.git/?tab=1#top', 'https://a.test/tool.git', 'tool'],
    ['https://www.github.com/ada/tool', 'https://www.github.com/ada/tool', 'tool'],
    ['https://git.sr.ht/~ada/a%20b', 'https://git.sr.ht/~ada/a%20b', 'a_b'],
    ['https://a.test/..%2F..%2Fx.git', 'https://a.test/..%2F..%2Fx.git', 'x'],
  ])('at %s is cloned from %s as %s', (url, from, name) => {
    expect(repositoryAt(url, forges)).toMatchObject({ url: from, name: expect.stringContaining(name) as string })
    expect(repositoryAt(url, forges)!.name).toMatch(/^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u)
  })

  it.each([
    'https://github.com/ada',
    'https://github.com/ada/tool/issues/5',
    'https://ada.github.io/a/b',
    'https://a.test/.git',
    'https://a.test/x.gitignore',
  ])('is not at %s', (url) => {
    expect(repositoryAt(url, forges)).toBeUndefined()
  })
})

describe('yt-dlp', () => {
  it.each([
    [0, '[info] nothing', { problem: undefined, isNone: true }],
    [1, 'ERROR: Unsupported URL: https://a.test/', { problem: undefined, isNone: true }],
    [
      1,
      'ERROR: [youtube] abc: Sign in to confirm; please report this issue on x',
      { problem: 'yt-dlp: Sign in to confirm', isNone: false },
    ],
    [
      0,
      '[download] File is larger than max-filesize (9 bytes > 1 bytes). Aborting.',
      { problem: 'larger than 1 byte', isNone: false },
    ],
    [1, 'Traceback', { problem: 'yt-dlp: ended with exit code 1', isNone: false }],
  ])('that ends with %i and says %j: %j', (code, log, outcome) => {
    expect(outcomeOf({ code, signal: null, log }, '1 byte')).toEqual(outcome)
  })
})
