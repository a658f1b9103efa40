import { existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { noMounts } from '../../support/containers.ts'
import { newFolder } from '../../support/homes.ts'
import { program } from '../../support/program.ts'
import { expectRefused } from '../../support/refused.ts'
import { type Site, startSite } from '../../support/site.ts'

const URL = 'http://127.0.0.1:9/'
/** Nobody waits for a refusal: whoever waits for a database does so for longer than for the command. */
const WAIT_DB = '600'
let folder: string
let site: Site
beforeAll(async () => {
  folder = newFolder()
  site = await startSite(2)
})
afterEach(() => {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await site.close()
})

const noSysfs = !existsSync('/sys/kernel') && 'needs a mounted /sys'

describe('DATA_DIR', () => {
  const verbs = [['add', URL], ['run', '--exit-on-idle'], ['init']]
  const refused = async (dir: string, reason: RegExp) => {
    for (const args of verbs)
      expectRefused(await program(args, { env: { DATA_DIR: dir, WAIT_DB }, cwd: folder }), reason)
    expect((await program(['status'], { env: { DATA_DIR: dir, WAIT_DB }, cwd: folder })).code).toBe(2)
  }
  const refusedUnmade = async (dir: string, reason: RegExp) => {
    for (const args of [['status'], ['config', 'list']])
      expectRefused(await program(args, { env: { DATA_DIR: dir, WAIT_DB }, cwd: folder }), reason)
    const { code, stdout } = await program(['doctor'], { env: { DATA_DIR: dir, WAIT_DB }, cwd: folder })
    expect(code, stdout).not.toBe(0)
    expect(stdout).toMatch(reason)
  }

  it.skipIf(process.platform !== 'linux')('in a file system that the kernel makes up is refused at once', async () => {
    await refused('/proc/foo', /\/proc\/foo: no files can be kept in a proc file system|\/proc is not writable/)
    await refused('/proc/foo/bar/baz', /no files can be kept in a proc file system|\/proc is not writable/)
  })

  it.skipIf(noSysfs)(`in /sys is refused at once ${noSysfs || ''}`, async () => {
    await refused('/sys/x', /\/sys\/x: no files can be kept in a sysfs file system|\/sys is not writable/)
  })

  it('that is no place for a folder is refused at once', async () => {
    writeFileSync(join(folder, 'file'), '')
    await refused(join(folder, 'file'), /file is not a directory/)
    await refusedUnmade(join(folder, 'file'), /file is not a directory/)
    await refused(join(folder, 'file', 'below'), /file is not a directory/)
    await refused('/dev/null/x', /\/dev\/null is not a directory/)
    await refused(join(folder, 'a\nb'), /DATA_DIR=.*: it takes a path without control characters/)
    await refused(join(folder, 'x'.repeat(300)), /ENAMETOOLONG/)
    expect(readdirSync(folder)).toEqual(['file'])
  })

  it('that holds other files is refused, with the command that insists on that folder', async () => {
    writeFileSync(join(folder, 'mine.txt'), '')
    const { code, stderr } = await program(['add', '--data-dir', '.', URL], { cwd: folder })
    expect(code, stderr).toBe(2)
    expect(stderr).toContain(`insist with: archivebox-ts init --force --data-dir ${folder}\n`)
    expect(readdirSync(folder)).toEqual(['mine.txt'])
  })

  it('that is a symbolic link to nothing, or to itself, is refused at once', async () => {
    symlinkSync('gone', join(folder, 'link'))
    symlinkSync('loop', join(folder, 'loop'))
    const reason = /link is a symbolic link to gone, which does not exist/
    for (const dir of ['link', 'link/below']) {
      await refused(join(folder, dir), reason)
      await refusedUnmade(join(folder, dir), reason)
    }
    for (const args of [...verbs, ['status']]) {
      const { code, stderr } = await program(args, { env: { DATA_DIR: 'loop', WAIT_DB }, cwd: folder })
      expect(code, stderr).toBe(2)
      expect(stderr).toContain('cannot read loop/archivebox.toml: ELOOP')
    }
    expect(readdirSync(folder).sort()).toEqual(['link', 'loop'])
  })

  it.skipIf(noMounts)(`on a read-only mount is refused at once ${noMounts || ''}`, async () => {
    const under = ['unshare', '--mount', 'sh', '-c', `mount -t tmpfs -o ro none '${folder}' && exec "$@"`, 'sh']
    for (const args of verbs)
      expectRefused(
        await program(args, { env: { DATA_DIR: join(folder, 'data'), WAIT_DB }, under }),
        /is not writable: EROFS/,
      )
  })

  it('is named together with bad settings', async () => {
    expectRefused(
      await program(['add', URL], { env: { DATA_DIR: '/dev/null/x', TIMEOUT: 'soon' } }),
      'TIMEOUT=soon',
      /is not a directory/,
    )
  })
})
