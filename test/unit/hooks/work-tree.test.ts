import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NODE } from '../../support/program.ts'
import { made, names, publish, published, reopen, root, tree, useWorkTree } from '../../support/work-trees.ts'

useWorkTree()

describe('a hook whose plugin has published before', () => {
  it('finds that as it was, whatever others made of it, and what is new', async () => {
    for (const path of ['file', 'deep/file', 'deep/er/file', 'left']) made('html', path, 'own')
    symlinkSync('file', join(tree.dirFor('html'), 'link'))
    await publish('html')
    appendFileSync(join(tree.work, 'html/file'), 'more')
    rmSync(join(tree.work, 'html/link'))
    symlinkSync('/etc/passwd', join(tree.work, 'html/link'))
    renameSync(join(tree.work, 'html/deep'), join(tree.work, 'taken'))
    symlinkSync('../taken', join(tree.work, 'html/deep'))
    made('html', 'new', 'new')
    await tree.restore('html')
    for (const path of ['file', 'deep/file', 'deep/er/file', 'left', 'link'])
      expect(readFileSync(join(tree.work, 'html', path), 'utf8'), path).toBe('own')
    expect(Object.keys((await publish('html')).written)).toEqual(['new'])
    expect(lstatSync(join(root, 'html/deep')).isDirectory()).toBe(true)
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
    await publish('wget')
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
  it('half-written work is gone, and what is published is there for the hooks that follow', async () => {
    made('html', 'sub/output.html', 'whole')
    await publish('html')
    made('title', 'title.txt', 'half')
    await reopen()
    expect(readdirSync(tree.work)).toEqual(['html'])
    expect(readFileSync(join(tree.work, 'html', 'sub', 'output.html'), 'utf8')).toBe('whole')
    appendFileSync(join(tree.work, 'html', 'sub', 'output.html'), ' and changed')
    expect(published('html/sub/output.html')).toBe('whole')
  })

  it('before the renames, the half-copied version goes and the published one stays', async () => {
    made('html', 'output.html', 'old')
    await publish('html')
    mkdirSync(join(root, '.publish-html'))
    writeFileSync(join(root, '.publish-html', 'output.html'), 'ne')
    await reopen()
    expect(published('html/output.html')).toBe('old')
    expect(names()).toEqual(['html'])
  })

  it('between the two renames, the replaced version comes back', async () => {
    made('html', 'output.html', 'old')
    await publish('html')
    renameSync(join(root, 'html'), join(root, '.replaced-html'))
    mkdirSync(join(root, '.publish-html'))
    writeFileSync(join(root, '.publish-html', 'output.html'), 'new')
    await reopen()
    expect(published('html/output.html')).toBe('old')
    expect(readFileSync(join(tree.work, 'html', 'output.html'), 'utf8')).toBe('old')
    expect(names()).toEqual(['html'])
  })

  it('after the renames, the new version stays and the replaced one goes', async () => {
    made('html', 'output.html', 'new')
    await publish('html')
    mkdirSync(join(root, '.replaced-html'))
    writeFileSync(join(root, '.replaced-html', 'output.html'), 'old')
    await reopen()
    expect(published('html/output.html')).toBe('new')
    expect(names()).toEqual(['html'])
    made('html', 'output.html', 'newer')
    await publish('html')
    expect(published('html/output.html')).toBe('newer')
  })

  it('.attempts and .logs are kept, and not shown to hooks', async () => {
    made('wget', 'half.html', 'half')
    await tree.setAside('wget', 'a.1')
    mkdirSync(join(root, '.logs'))
    writeFileSync(join(root, '.logs', 'x.log'), 'x')
    await reopen()
    expect(names().sort()).toEqual(['.attempts', '.logs'])
    expect(readdirSync(tree.work)).toEqual([])
  })
})

describe('the end', () => {
  it('takes the work away at once, and whoever is killed at it leaves no part to be taken for the whole', async () => {
    made('html', 'output.html', 'x')
    made('title', 'title.txt', 'x')
    const { href } = new URL('../../../src/hooks/work-tree.ts', import.meta.url)
    const script = `import fs, { rmSync } from 'node:fs'
      import { syncBuiltinESMExports } from 'node:module'
      fs.rmSync = (path, options) => {
        if (!fs.existsSync(path)) return
        rmSync(path + '/html', options)
        process.kill(process.pid, 'SIGKILL')
      }
      syncBuiltinESMExports()
      const { WorkTree } = await import('${href}')
      new WorkTree(process.argv[1]).close()`
    expect(spawnSync(NODE, ['--input-type=module', '-e', script, root]).signal).toBe('SIGKILL')
    expect([tree.hasLeftovers, tree.isReconciled]).toEqual([false, false])
    await reopen()
    tree.close()
    expect(names()).toEqual([])
  })

  it('takes the work away and leaves what is published', async () => {
    made('html', 'output.html', 'whole')
    await publish('html')
    tree.close()
    tree.close()
    expect(readdirSync(root)).toEqual(['html'])
    expect(published('html/output.html')).toBe('whole')
  })
})
