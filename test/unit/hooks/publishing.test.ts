import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { flush } from '../../../src/base/flush.ts'
import { copyTree } from '../../../src/hooks/copy-tree.ts'
import { WorkTree } from '../../../src/hooks/work-tree.ts'
import { made, names, publish, published, reopen, root, tree, useWorkTree } from '../../support/work-trees.ts'

// A file that this process ran before may have loaded the tree with the real one.
vi.hoisted(() => vi.resetModules())
vi.mock('../../../src/base/flush.ts', { spy: true })

useWorkTree()

describe('publishing', () => {
  it('flushes what it moves, unless that is done, and copies in any case', async () => {
    const seen = () => vi.mocked(flush).mock.lastCall?.[0]
    for (const [plugin, move, isFlushed] of [
      ['moved', true, false],
      ['on_disk', true, true],
      ['copied', false, true],
    ] as const) {
      vi.mocked(flush).mockClear()
      made(plugin, 'a', 'x')
      await tree.publish([plugin], move, isFlushed ? [plugin] : [])
      const at = { moved: '.work/moved', copied: '.publish-copied', on_disk: undefined }[plugin]
      expect(seen()).toEqual(at && [join(root, at, 'a'), join(root, at)].map((path) => expect.stringContaining(path)))
    }
  })

  it('puts files under the plugin’s name, and lists them with size and type', async () => {
    made('html', 'output.html', '<p>ä')
    made('html', 'assets/deep/logo.png', 'png')
    expect(names()).toEqual([])
    expect(await publish('html')).toEqual({
      written: {
        'output.html': { size: 5, mimetype: 'text/html' },
        'assets/deep/logo.png': { size: 3, mimetype: 'image/png' },
      },
      standing: {},
    })
    expect(published('html/output.html')).toBe('<p>ä')
    expect(published('html/assets/deep/logo.png')).toBe('png')
    expect(names()).toEqual(['html'])
  })

  it('of a page that is somebody else’s by now leaves what is there as it is', async () => {
    made('html', 'output.html', 'first')
    await publish('html')
    await reopen(() => Promise.reject(new Error('not ours')))
    made('html', 'output.html', 'second')
    await expect(publish('html')).rejects.toThrow('not ours')
    expect(published('html/output.html')).toBe('first')
  })

  it('lets the leases of other pages be renewed between small files', async () => {
    for (let index = 0; index < 3_000; index += 1) made('html', String(index), 'x')
    let turns = 0
    const lease = setInterval(() => {
      turns += 1
    }, 1)
    await copyTree(root, '.work/html', join(root, '.publish-html'))
    clearInterval(lease)
    expect(turns).toBeGreaterThan(0)
  })

  it('of nothing leaves no folder', async () => {
    mkdirSync(join(tree.dirFor('html'), 'empty', 'folders'), { recursive: true })
    for (const plugin of ['html', 'never_ran']) expect(await publish(plugin)).toEqual({ written: {}, standing: {} })
    expect(names()).toEqual([])
  })

  it('replaces an earlier version as a whole', async () => {
    made('html', 'old.html', 'old')
    made('html', 'same.html', 'old')
    await publish('html')
    rmSync(join(tree.work, 'html'), { recursive: true })
    made('html', 'same.html', 'new')
    expect(Object.keys((await publish('html')).written)).toEqual(['same.html'])
    expect(readdirSync(join(root, 'html'))).toEqual(['same.html'])
    expect(published('html/same.html')).toBe('new')
    expect(names()).toEqual(['html'])
  })

  it('shows a reader the old folder or the new one, never a mixture: the folder itself is exchanged', async () => {
    made('html', 'output.html', 'old')
    await publish('html')
    const before = statSync(join(root, 'html')).ino
    writeFileSync(join(tree.dirFor('html'), 'second.html'), 'new')
    await publish('html')
    expect(statSync(join(root, 'html')).ino).not.toBe(before)
  })

  it('leaves nothing half-done when its files turn out to be somebody else’s', async () => {
    const refused = new WorkTree(root, async () => {
      throw new Error('not ours')
    })
    await refused.open()
    writeFileSync(join(refused.dirFor('html'), 'output.html'), 'late')
    await expect(publish('html', refused)).rejects.toThrow('not ours')
    expect(names()).toEqual([])
  })

  it('asks again when the machine was suspended between the answer and the rename', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const isOurs = vi.fn(async () => {
        if (isOurs.mock.calls.length > 1) throw new Error('not ours')
        vi.advanceTimersByTime(60_000)
      })
      await reopen(isOurs)
      made('html', 'output.html', 'late')
      await expect(publish('html')).rejects.toThrow('not ours')
      expect(names()).toEqual([])
    } finally {
      vi.useRealTimers()
    }
  })

  it('copies: whatever becomes of the files in .work, what is published stays', async () => {
    made('html', 'output.html', 'first')
    await publish('html')
    expect(statSync(join(root, 'html', 'output.html')).nlink).toBe(1)
    appendFileSync(join(tree.work, 'html', 'output.html'), ' and second')
    chmodSync(join(tree.work, 'html', 'output.html'), 0o600)
    expect(published('html/output.html')).toBe('first')
    expect(statSync(join(root, 'html', 'output.html')).mode & 0o777).toBe(0o644)
    await publish('html')
    expect(published('html/output.html')).toBe('first and second')
  })

  it('copies large files whole, too, and keeps modes and times', async () => {
    const file = join(tree.dirFor('html'), 'large')
    writeFileSync(file, Buffer.alloc(20 * 1024 * 1024, 'large'), { mode: 0o640 })
    utimesSync(file, 981_173_106, 981_173_106)
    expect((await publish('html')).written).toMatchObject({ large: { size: 20 * 1024 * 1024 } })
    expect(readFileSync(join(root, 'html/large')).equals(readFileSync(file))).toBe(true)
    expect(statSync(join(root, 'html/large'))).toMatchObject({ mtimeMs: 981_173_106_000, mode: statSync(file).mode })
  })

  it('tells what was written from what was there, also when it was written again with the same bytes', async () => {
    for (const name of ['left', 'again', 'more', 'gone']) made('html', name, name)
    await publish('html')
    made('html', 'again', 'again')
    made('html', 'new', 'new')
    appendFileSync(join(tree.work, 'html', 'more'), '!')
    rmSync(join(tree.work, 'html', 'gone'))
    const { written, standing } = await publish('html')
    expect([Object.keys(written).sort(), Object.keys(standing)]).toEqual([['again', 'more', 'new'], ['left']])
    await tree.open()
    made('html', 'new', 'newer')
    const later = await publish('html')
    expect([Object.keys(later.written), Object.keys(later.standing).sort()]).toEqual([
      ['new'],
      ['again', 'left', 'more'],
    ])
  })

  it('never takes sockets, pipes or links that lead outside: an output cannot point outside', async () => {
    const dir = tree.dirFor('evil')
    const outside = join(root, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'secret.txt'), 'secret')
    symlinkSync('/etc/passwd', join(dir, 'passwd'))
    symlinkSync(outside, join(dir, 'folder'))
    symlinkSync('folder/secret.txt', join(dir, 'through'))
    symlinkSync('../evil/harmless.txt', join(dir, 'out-and-in'))
    symlinkSync(join(dir, 'harmless.txt'), join(dir, 'absolute'))
    symlinkSync('nowhere', join(dir, 'dangling'))
    execFileSync('mkfifo', [join(dir, 'pipe')])
    symlinkSync('pipe', join(dir, 'to-pipe'))
    const server = createServer().listen(join(dir, 'socket'))
    await once(server, 'listening')
    try {
      made('evil', 'harmless.txt', 'text')
      expect((await publish('evil')).written).toEqual({ 'harmless.txt': { size: 4, mimetype: 'text/plain' } })
      expect(readdirSync(join(root, 'evil'))).toEqual(['harmless.txt'])
      expect(lstatSync(join(root, 'evil', 'harmless.txt')).isFile()).toBe(true)
    } finally {
      server.close()
    }
  })

  it('takes links that stay in the plugin’s folder, as links, and shows them again', async () => {
    made('html', 'all/1.html', 'page')
    symlinkSync('all/1.html', join(tree.dirFor('html'), 'index.html'))
    symlinkSync('index.html', join(tree.dirFor('html'), 'chain.html'))
    symlinkSync('all', join(tree.dirFor('html'), 'latest'))
    const links = {
      'index.html': { size: 0, mimetype: 'text/html', link: 'all/1.html' },
      'chain.html': { size: 0, mimetype: 'text/html', link: 'index.html' },
      latest: { size: 0, mimetype: 'inode/directory', link: 'all' },
    }
    expect((await publish('html')).written).toEqual({ 'all/1.html': { size: 4, mimetype: 'text/html' }, ...links })
    for (const path of ['index.html', 'chain.html', 'latest/1.html']) expect(published(`html/${path}`)).toBe('page')
    await tree.open()
    expect(readlinkSync(join(tree.work, 'html', 'index.html'))).toBe('all/1.html')
    expect((await publish('html')).standing).toMatchObject(links)
  })

  it('takes nothing from outside while somebody exchanges files and folders for links', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'abx-outside-'))
    for (const name of ['a.txt', 'file.txt']) writeFileSync(join(outside, name), 'secret')
    made('evil', 'assets/a.txt', 'own')
    made('evil', 'file.txt', 'own')
    const swap = `
      const fs = require('node:fs')
      process.chdir(process.argv[1])
      for (;;) for (const [name, to] of [['assets', process.argv[2]], ['file.txt', process.argv[2] + '/file.txt']]) {
        fs.renameSync(name, name + '.own'); fs.symlinkSync(to, name)
        fs.unlinkSync(name); fs.renameSync(name + '.own', name)
      }`
    const swapping = spawn(process.execPath, ['-e', swap, tree.dirFor('evil'), outside], { stdio: 'ignore' })
    try {
      for (let round = 0; round < 400; round += 1) {
        await publish('evil')
        const there = readdirSync(join(root, 'evil'), { recursive: true, withFileTypes: true })
        expect(there.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name)).toEqual([])
        for (const entry of there.filter((found) => found.isFile()))
          expect(readFileSync(join(entry.parentPath, entry.name), 'utf8'), entry.name).toBe('own')
      }
    } finally {
      swapping.kill('SIGKILL')
      await once(swapping, 'exit')
      rmSync(outside, { recursive: true, force: true })
    }
  }, 60_000)

  it('does not follow a symlink in place of the published folder', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'abx-outside-'))
    try {
      writeFileSync(join(outside, 'kept.txt'), 'kept')
      symlinkSync(outside, join(root, 'html'))
      made('html', 'output.html', 'new')
      await publish('html')
      expect(lstatSync(join(root, 'html')).isDirectory()).toBe(true)
      expect(readdirSync(outside)).toEqual(['kept.txt'])
    } finally {
      rmSync(outside, { recursive: true, force: true })
    }
  })

  it('does not follow a symlink in place of the folder in .work', async () => {
    rmSync(tree.dirFor('html'), { recursive: true })
    symlinkSync('/etc', join(tree.work, 'html'))
    expect(await publish('html')).toEqual({ written: {}, standing: {} })
    await tree.setAside('html', 'a.1')
    expect(lstatSync(tree.dirFor('html')).isDirectory()).toBe(true)
    expect(names()).toEqual([])
  })

  it('keeps odd names as they are', async () => {
    const odd = [
      'with space.html',
      'a%2Fb.txt',
      '"quoted".txt',
      "it's.txt",
      '<b>.txt',
      'новый.txt',
      '-rf',
      'line\nbreak.txt',
      '.dot.txt',
      '__proto__',
    ]
    for (const name of odd) made('html', name, name)
    expect(Object.keys((await publish('html')).written).sort()).toEqual([...odd].sort())
    for (const name of odd) expect(published(`html/${name}`)).toBe(name)
  })
})
