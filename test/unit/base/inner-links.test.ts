import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { innerLinks, type TreeEntry } from '../../../src/base/inner-links.ts'

const PLAIN: readonly (readonly [string, TreeEntry])[] = [
  ['file', 'file'],
  ['dir', 'folder'],
  ['dir/sub', 'folder'],
  ['dir/sub/file', 'file'],
]
const tree = (links: Readonly<Record<string, string>>) =>
  new Map<string, TreeEntry>([...PLAIN, ...Object.entries(links).map(([path, link]) => [path, { link }] as const)])

describe('links of a tree', () => {
  it.each([
    [{ a: 'file' }, { a: 'file' }],
    [{ a: './dir//sub/file' }, { a: 'file' }],
    [
      { a: 'dir/', b: '.', 'dir/up': '..' },
      { a: 'folder', b: 'folder', 'dir/up': 'folder' },
    ],
    [{ 'dir/sub/a': '../../file' }, { 'dir/sub/a': 'file' }],
    [
      { a: 'b', b: 'c', c: 'file' },
      { a: 'file', b: 'file', c: 'file' },
    ],
    [
      { a: 'dir/sub', 'dir/b': '../a/file' },
      { a: 'folder', 'dir/b': 'file' },
    ],
    [
      { a: 'dir/sub', b: 'a/../../file' },
      { a: 'folder', b: 'file' },
    ],
  ])('stay inside: %j', (links, ends) => {
    expect(Object.fromEntries(innerLinks(tree(links)))).toEqual(ends)
  })

  it.each([
    ['an absolute target', { a: '/etc/passwd', b: '/' }],
    ['a way out', { a: '..', b: '../file', 'dir/a': '../../x', 'dir/b': '../..' }],
    ['a way out and back in', { a: '../plugin/file', 'dir/a': '../../plugin/file' }],
    ['a way out through another link', { b: 'a/../../..', a: 'dir/nowhere' }],
    ['a chain that ends outside', { a: 'b', b: 'c', c: '/etc/passwd' }],
    ['nothing', { a: 'nowhere', b: 'dir/nowhere', c: 'nowhere/../file' }],
    ['a circle', { a: 'b', b: 'a', c: 'c', d: 'd/file' }],
    ['below a file', { a: 'file/', b: 'file/.', c: 'file/..', d: 'file/x' }],
    ['many steps', { a: 'dir/../'.repeat(200).concat('file') }],
  ])('do not when they lead to %s', (_what, links) => {
    expect(Object.fromEntries(innerLinks(tree(links)))).toEqual({})
  })

  it('do not when they leave through a link that is fine by itself', () => {
    expect(Object.fromEntries(innerLinks(tree({ a: 'dir/sub', b: 'a/../../..' })))).toEqual({ a: 'folder' })
  })

  it('lead where the system leads', () => {
    const names = ['file', 'dir', 'dir/sub', 'dir/sub/file']
    const targets = [
      ...names,
      '.',
      '..',
      '../file',
      'a',
      'b',
      'a/sub',
      'b/../file',
      'a/..',
      'dir/c',
      'c/../../file',
      '../dir',
      'sub',
    ]
    let random = 7
    const any = () => {
      random = (random * 16_807) % 2_147_483_647
      return targets[random % targets.length]!
    }
    for (let round = 0; round < 100; round += 1) {
      const root = realpathSync(mkdtempSync(join(tmpdir(), 'abx-links-')))
      try {
        mkdirSync(join(root, 'dir/sub'), { recursive: true })
        for (const file of ['file', 'dir/sub/file']) writeFileSync(join(root, file), '')
        const links = { a: any(), b: any(), 'dir/c': any() }
        for (const [path, target] of Object.entries(links)) symlinkSync(target, join(root, path))
        for (const [path, end] of innerLinks(tree(links))) {
          expect(
            `${realpathSync(join(root, path))}/`.startsWith(`${root}/`),
            `${path} of ${JSON.stringify(links)}`,
          ).toBe(true)
          expect(lstatSync(join(root, path)).isSymbolicLink()).toBe(true)
          expect(statSync(join(root, path)).isFile()).toBe(end === 'file')
        }
      } finally {
        rmSync(root, { recursive: true, force: true })
      }
    }
  })
})
