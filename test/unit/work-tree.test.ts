import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WorkTree } from '../../src/hooks/work-tree.ts'

let root: string
let tree: WorkTree
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'abx-tree-'))
  tree = new WorkTree(root)
  await tree.open()
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Writes a file as a hook of `plugin` would. */
function made(plugin: string, path: string, text: string): void {
  const file = join(tree.dirFor(plugin), path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

const published = (path: string) => readFileSync(join(root, path), 'utf8')
/** What stands in the page's folder, our own work aside. */
const names = () => readdirSync(root).filter((name) => name !== '.work')

describe('publishing', () => {
  it('puts files under the plugin’s name, and lists them with size and type', async () => {
    made('html', 'output.html', '<p>ä')
    made('html', 'assets/deep/logo.png', 'png')
    expect(names()).toEqual([])
    expect(await tree.publish('html', true)).toEqual({
      'output.html': { size: 5, mimetype: 'text/html' },
      'assets/deep/logo.png': { size: 3, mimetype: 'image/png' },
    })
    expect(published('html/output.html')).toBe('<p>ä')
    expect(published('html/assets/deep/logo.png')).toBe('png')
    expect(names()).toEqual(['html'])
  })

  it('of a page that is somebody else’s by now leaves what is there as it is', async () => {
    made('html', 'output.html', 'first')
    await tree.publish('html', true)
    tree = new WorkTree(root, () => Promise.reject(new Error('not ours')))
    await tree.open()
    made('html', 'output.html', 'second')
    await expect(tree.publish('html', true)).rejects.toThrow('not ours')
    expect(published('html/output.html')).toBe('first')
  })

  it('of nothing leaves no folder', async () => {
    mkdirSync(join(tree.dirFor('html'), 'empty', 'folders'), { recursive: true })
    expect(await tree.publish('html', true)).toEqual({})
    expect(await tree.publish('never_ran', true)).toEqual({})
    expect(names()).toEqual([])
  })

  it('replaces an earlier version as a whole', async () => {
    made('html', 'old.html', 'old')
    made('html', 'same.html', 'old')
    await tree.publish('html', true)
    rmSync(join(tree.work, 'html'), { recursive: true })
    made('html', 'same.html', 'new')
    expect(Object.keys(await tree.publish('html', true))).toEqual(['same.html'])
    expect(readdirSync(join(root, 'html'))).toEqual(['same.html'])
    expect(published('html/same.html')).toBe('new')
    expect(names()).toEqual(['html'])
  })

  it('shows a reader the old folder or the new one, never a mixture: the folder itself is exchanged', async () => {
    made('html', 'output.html', 'old')
    await tree.publish('html', true)
    const before = statSync(join(root, 'html')).ino
    writeFileSync(join(tree.dirFor('html'), 'second.html'), 'new')
    await tree.publish('html', true)
    expect(statSync(join(root, 'html')).ino).not.toBe(before)
  })

  it('leaves nothing half-done when its files turn out to be somebody else’s', async () => {
    const refused = new WorkTree(root, async () => {
      throw new Error('not ours')
    })
    await refused.open()
    writeFileSync(join(refused.dirFor('html'), 'output.html'), 'late')
    await expect(refused.publish('html', true)).rejects.toThrow('not ours')
    expect(names()).toEqual([])
  })

  it('for the first of several hooks copies: what the next one writes changes nothing that is published', async () => {
    made('html', 'output.html', 'first')
    await tree.publish('html', false)
    appendFileSync(join(tree.work, 'html', 'output.html'), ' and second')
    expect(published('html/output.html')).toBe('first')
    await tree.publish('html', true)
    expect(published('html/output.html')).toBe('first and second')
  })

  it('never takes symlinks, sockets or pipes: an output cannot point outside', async () => {
    const dir = tree.dirFor('evil')
    const outside = join(root, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'secret.txt'), 'secret')
    symlinkSync('/etc/passwd', join(dir, 'passwd'))
    symlinkSync(outside, join(dir, 'folder'))
    symlinkSync('nowhere', join(dir, 'dangling'))
    execFileSync('mkfifo', [join(dir, 'pipe')])
    const server = createServer().listen(join(dir, 'socket'))
    await once(server, 'listening')
    try {
      made('evil', 'harmless.txt', 'text')
      expect(await tree.publish('evil', true)).toEqual({ 'harmless.txt': { size: 4, mimetype: 'text/plain' } })
      expect(readdirSync(join(root, 'evil'))).toEqual(['harmless.txt'])
      expect(lstatSync(join(root, 'evil', 'harmless.txt')).isFile()).toBe(true)
    } finally {
      server.close()
    }
  })

  it('does not follow a symlink in place of the plugin’s own folder', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'abx-outside-'))
    try {
      writeFileSync(join(outside, 'kept.txt'), 'kept')
      symlinkSync(outside, join(root, 'html'))
      made('html', 'output.html', 'new')
      await tree.publish('html', true)
      expect(lstatSync(join(root, 'html')).isDirectory()).toBe(true)
      expect(readdirSync(outside)).toEqual(['kept.txt'])
    } finally {
      rmSync(outside, { recursive: true, force: true })
    }
  })

  it('keeps odd names as they are', async () => {
    const odd = ['with space.html', 'a%2Fb.txt', '"quoted".txt', "it's.txt", '<b>.txt', 'новый.txt', '-rf', 'line\nbreak.txt', '.dot.txt']
    for (const name of odd) made('html', name, name)
    expect(Object.keys(await tree.publish('html', true)).sort()).toEqual([...odd].sort())
    for (const name of odd) expect(published(`html/${name}`)).toBe(name)
  })
})

describe('a hook that failed', () => {
  it('leaves its files in .attempts, out of its siblings’ sight, and its empty folder stays', async () => {
    made('wget', 'half.html', 'half')
    await tree.setAside('wget', 'on_Snapshot__35_wget.js.1')
    expect(published('.attempts/on_Snapshot__35_wget.js.1/half.html')).toBe('half')
    expect(readdirSync(join(tree.work, 'wget'))).toEqual([])
    expect(existsSync(join(root, 'wget'))).toBe(false)
  })

  it('leaves in sight what its plugin has published before', async () => {
    made('wget', 'page.html', 'whole')
    await tree.publish('wget', false)
    made('wget', 'half.html', 'half')
    await tree.setAside('wget', 'second.1')
    expect(readdirSync(join(tree.work, 'wget'))).toEqual(['page.html'])
    expect(published('.attempts/second.1/half.html')).toBe('half')
    expect(published('wget/page.html')).toBe('whole')
  })

  it('with nothing to show leaves nothing', async () => {
    tree.dirFor('wget')
    await tree.setAside('wget', 'a.1')
    await tree.setAside('never_ran', 'b.1')
    expect(names()).toEqual([])
    expect(existsSync(join(tree.work, 'wget'))).toBe(true)
  })

  it('a second time in the same attempt replaces the first', async () => {
    for (const text of ['first', 'second']) {
      made('wget', `${text}.html`, text)
      await tree.setAside('wget', 'a.1')
    }
    expect(readdirSync(join(root, '.attempts', 'a.1'))).toEqual(['second.html'])
  })
})

describe('after a crash', () => {
  /** What the next worker does. */
  const reopened = async () => {
    tree = new WorkTree(root)
    await tree.open()
  }

  it('half-written work is gone, and what is published is there for the hooks that follow', async () => {
    made('html', 'sub/output.html', 'whole')
    await tree.publish('html', true)
    made('title', 'title.txt', 'half')
    await reopened()
    expect(readdirSync(tree.work)).toEqual(['html'])
    expect(readFileSync(join(tree.work, 'html', 'sub', 'output.html'), 'utf8')).toBe('whole')
    appendFileSync(join(tree.work, 'html', 'sub', 'output.html'), ' and changed')
    expect(published('html/sub/output.html')).toBe('whole')
  })

  it('before the renames, the half-copied version goes and the published one stays', async () => {
    made('html', 'output.html', 'old')
    await tree.publish('html', true)
    mkdirSync(join(root, '.publish-html'))
    writeFileSync(join(root, '.publish-html', 'output.html'), 'ne')
    await reopened()
    expect(published('html/output.html')).toBe('old')
    expect(names()).toEqual(['html'])
  })

  it('between the two renames, the replaced version comes back', async () => {
    made('html', 'output.html', 'old')
    await tree.publish('html', true)
    renameSync(join(root, 'html'), join(root, '.replaced-html'))
    mkdirSync(join(root, '.publish-html'))
    writeFileSync(join(root, '.publish-html', 'output.html'), 'new')
    await reopened()
    expect(published('html/output.html')).toBe('old')
    expect(readFileSync(join(tree.work, 'html', 'output.html'), 'utf8')).toBe('old')
    expect(names()).toEqual(['html'])
  })

  it('after the renames, the new version stays and the replaced one goes', async () => {
    made('html', 'output.html', 'new')
    await tree.publish('html', true)
    mkdirSync(join(root, '.replaced-html'))
    writeFileSync(join(root, '.replaced-html', 'output.html'), 'old')
    await reopened()
    expect(published('html/output.html')).toBe('new')
    expect(names()).toEqual(['html'])
    made('html', 'output.html', 'newer')
    await tree.publish('html', true)
    expect(published('html/output.html')).toBe('newer')
  })

  it('.attempts and .logs are kept, and not shown to hooks', async () => {
    made('wget', 'half.html', 'half')
    await tree.setAside('wget', 'a.1')
    mkdirSync(join(root, '.logs'))
    writeFileSync(join(root, '.logs', 'x.log'), 'x')
    await reopened()
    expect(names().sort()).toEqual(['.attempts', '.logs'])
    expect(readdirSync(tree.work)).toEqual([])
  })
})

describe('the end', () => {
  it('takes the work away and leaves what is published', async () => {
    made('html', 'output.html', 'whole')
    await tree.publish('html', true)
    tree.close()
    tree.close()
    expect(readdirSync(root)).toEqual(['html'])
    expect(published('html/output.html')).toBe('whole')
  })
})
