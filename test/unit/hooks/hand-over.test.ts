import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { copyTree, listTree } from '../../../src/hooks/copy-tree.ts'
import { freeze, giveFile, handOver, takeBack, takeListed } from '../../../src/hooks/hand-over.ts'
import { WorkTree } from '../../../src/hooks/work-tree.ts'
import { waysToSwitch } from '../../../src/processes/containment/account-switch.ts'
import { newFolder } from '../../support/folders.ts'
import { noOtherUser, OTHER_USER } from '../../support/other-user.ts'

const THEM = { ...OTHER_USER, name: 'nobody' }
let folder: string
const at = (path: string) => join(folder, path)
const uid = (path: string) => lstatSync(at(path)).uid
const theirs = (...paths: string[]) => {
  for (const path of paths) chownSync(at(path), THEM.uid, THEM.gid)
}

beforeEach(() => {
  folder = newFolder()
})
afterEach(() => rmSync(folder, { recursive: true }))

describe.skipIf(noOtherUser)(`as root${noOtherUser ? `: ${noOtherUser}` : ''}`, () => {
  it('a tree goes to an account and comes back, without what links lead to and what is linked in', () => {
    mkdirSync(at('tree/deep'), { recursive: true })
    mkdirSync(at('elsewhere'))
    for (const path of ['tree/deep/file', 'elsewhere/file', 'ours']) writeFileSync(at(path), path)
    symlinkSync(at('elsewhere'), at('tree/leads'))
    symlinkSync(at('ours'), at('tree/link'))
    linkSync(at('ours'), at('tree/linked'))
    handOver(at('tree'), THEM)
    expect(['tree', 'tree/deep', 'tree/deep/file'].map(uid)).toEqual([THEM.uid, THEM.uid, THEM.uid])
    expect(['elsewhere', 'elsewhere/file', 'ours'].map(uid)).toEqual([0, 0, 0])
    chmodSync(at('tree/deep/file'), 0o6755)
    chmodSync(at('tree/deep'), 0o3777)
    chmodSync(at('tree'), 0o777)
    takeBack(at('tree'))
    for (const path of ['tree', 'tree/deep', 'tree/deep/file'])
      expect(lstatSync(at(path)), path).toMatchObject({ uid: 0, gid: 0 })
    expect(lstatSync(at('tree/deep/file')).mode & 0o7777).toBe(0o755)
    expect(['tree', 'tree/deep'].map((path) => lstatSync(at(path)).mode & 0o7777)).toEqual([0o755, 0o755])
  })

  it('a folder that was replaced by a link is left alone, and one that is frozen takes no other entry', () => {
    mkdirSync(at('theirs/inner'), { recursive: true })
    theirs('theirs', 'theirs/inner')
    for (const path of ['theirs', 'theirs/inner']) chmodSync(at(path), 0o777)
    symlinkSync('/etc', at('theirs/etc'))
    freeze(at('theirs/etc'))
    freeze(at('theirs'))
    expect(['theirs', 'theirs/inner'].map(uid)).toEqual([0, 0])
    for (const path of ['theirs', 'theirs/inner']) expect(lstatSync(at(path)).mode & 0o022, path).toBe(0)
    chmodSync(folder, 0o755)
    const { status } = spawnSync('touch', [at('theirs/inner/more')], { uid: THEM.uid, gid: THEM.gid, stdio: 'ignore' })
    expect([status, existsSync(at('theirs/inner/more'))]).toEqual([1, false])
    symlinkSync(at('nowhere'), at('log'))
    expect(() => giveFile(at('log'), THEM)).toThrow('ELOOP')
    giveFile(at('.logs/log'), THEM)
    expect([uid('.logs'), uid('.logs/log')]).toEqual([0, THEM.uid])
  })

  it('a tree that is taken over is listed on the way, or not at all when it cannot be moved as it is', () => {
    mkdirSync(at('tree/deep'), { recursive: true })
    for (const path of ['tree/file', 'tree/deep/page.html']) writeFileSync(at(path), path)
    theirs('tree', 'tree/deep', 'tree/file')
    const listed = takeListed(at('tree'))
    expect(['tree', 'tree/deep', 'tree/file', 'tree/deep/page.html'].map(uid)).toEqual([0, 0, 0, 0])
    const { files, folders } = listTree(at('tree'))!
    expect(listed).toMatchObject({ files, folders })
    expect([...listed!.files.keys()].sort()).toEqual(['deep/page.html', 'file'])
    const spoilt: readonly (() => void)[] = [
      () => symlinkSync(at('nowhere'), at('tree/extra')),
      () => linkSync(at('tree/file'), at('tree/extra')),
      () => writeFileSync(Buffer.concat([Buffer.from(at('tree/extra')), Buffer.from([0xff])]), ''),
    ]
    for (const spoil of spoilt) {
      spoil()
      expect(takeListed(at('tree'))).toBeUndefined()
      rmSync(at('tree'), { recursive: true })
      mkdirSync(at('tree'))
      writeFileSync(at('tree/file'), '')
    }
    symlinkSync(at('tree'), at('link'))
    for (const path of ['tree/file', 'nothing']) expect(takeListed(at(path))?.files.size ?? 0, path).toBe(0)
    expect(takeListed(at('link'))).toBeUndefined()
  })

  it('nothing is published of a file of ours that was linked in', async () => {
    mkdirSync(at('.work/hook'), { recursive: true })
    writeFileSync(at('secret'), 'hush', { mode: 0o600 })
    writeFileSync(at('.work/hook/own'), 'own')
    linkSync(at('secret'), at('.work/hook/stolen'))
    theirs('.work/hook', '.work/hook/own')
    const { files } = await copyTree(folder, '.work/hook', at('copy'), THEM.uid)
    expect([...files.keys()]).toEqual(['own'])
    expect([uid('copy'), uid('copy/own')]).toEqual([0, 0])
  })

  it('a link that the account plants as soon as a folder is its own leads us nowhere', async () => {
    for (const path of ['page/hook/deep', 'elsewhere']) mkdirSync(at(path), { recursive: true })
    for (const path of ['page/hook/deep/kept', 'page/hook/deep/gone', 'elsewhere/gone']) writeFileSync(at(path), path)
    const planted = at('page/.work/hook/deep')
    // What another hook of theirs does at that moment.
    const plant = () => {
      if (!existsSync(at('page/.work/hook'))) return
      rmSync(planted, { recursive: true, force: true })
      symlinkSync(at('elsewhere'), planted)
    }
    const watched = {
      ...THEM,
      get uid() {
        plant()
        return THEM.uid
      },
    }
    const tree = new WorkTree(at('page'), undefined, watched)
    await tree.open(new Map([['hook', ['deep/gone']]]))
    expect(readdirSync(at('elsewhere'))).toEqual(['gone'])
    await tree.discard('hook')
    expect(readdirSync(at('elsewhere'))).toEqual(['gone'])
    writeFileSync(at('page/.work/hook/part'), 'part')
    await tree.setAside('hook', 'hook.1')
    expect(readdirSync(at('elsewhere'))).toEqual(['gone'])
    tree.close()
  })

  it('a work tree gives the account folders in one of ours, and publishes what is ours again, moved or copied', async () => {
    for (const isMoved of [true, false]) {
      const tree = new WorkTree(at(`page-${isMoved}`), undefined, THEM)
      mkdirSync(tree.root)
      await tree.open()
      const dir = await tree.placeFor('hook')
      expect([lstatSync(tree.work).uid, lstatSync(dir).uid]).toEqual([0, THEM.uid])
      writeFileSync(join(dir, 'file'), 'one')
      theirs(`page-${isMoved}/.work/hook/file`)
      const published = await tree.publish(['hook'], isMoved)
      expect(published.get('hook')).toMatchObject({ written: { file: { size: 3 } }, standing: {} })
      const file = join(tree.root, 'hook', 'file')
      expect([lstatSync(join(tree.root, 'hook')).uid, lstatSync(file).uid]).toEqual([0, 0])

      await tree.open()
      const again = await tree.restore('hook')
      expect([lstatSync(again).uid, lstatSync(join(again, 'file')).uid]).toEqual([THEM.uid, THEM.uid])
      // Another hook has changed it: it is copied again, once, and is no work of the next one.
      rmSync(join(again, 'file'))
      await tree.restore('hook')
      const restored = lstatSync(join(again, 'file')).ino
      await tree.restore('hook')
      expect(lstatSync(join(again, 'file')).ino).toBe(restored)
      writeFileSync(join(again, 'second'), 'two')
      theirs(`page-${isMoved}/.work/hook/second`)
      const standing = (await tree.publish(['hook'], isMoved)).get('hook')
      expect(standing).toMatchObject({ written: { second: { size: 3 } }, standing: { file: { size: 3 } } })
      expect(readFileSync(file, 'utf8')).toBe('one')

      writeFileSync(join(await tree.restore('failing'), 'part'), 'part')
      theirs(`page-${isMoved}/.work/failing/part`)
      await tree.setAside('failing', 'failing.1')
      expect(lstatSync(join(tree.root, '.attempts', 'failing.1', 'part')).uid).toBe(0)
      tree.close()
      expect(existsSync(tree.work)).toBe(false)
    }
  })

  it('an account that may not enter a folder gets a view in which it holds only what is needed', () => {
    mkdirSync(at("it's/place"), { recursive: true })
    chmodSync(folder, 0o700)
    const [way = [], ofChroot = []] = waysToSwitch(THEM, [at("it's/place"), '/usr/bin'], false)
    expect([way[0], way.at(-1)]).toEqual([expect.stringMatching(/^\/.*unshare$/), '--clear-groups'])
    const script = way[way.indexOf('-c') + 1]
    expect(script).toContain(`'\\''s/place'`)
    expect(script).not.toContain('/usr/bin')
    expect(ofChroot.join(' ')).toContain('nsenter')
    const setpriv = [
      expect.stringMatching(/^\/.*setpriv$/),
      '--reuid',
      String(THEM.uid),
      '--regid',
      String(THEM.gid),
      '--init-groups',
    ]
    expect(waysToSwitch(THEM, ['/usr/bin', at('missing')], true)).toEqual([setpriv])
  })
})
