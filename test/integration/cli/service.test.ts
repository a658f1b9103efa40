import { spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withPrograms } from '../../support/bare-path.ts'
import { noMounts } from '../../support/containers.ts'
import { newFolder } from '../../support/folders.ts'
import { program } from '../../support/program.ts'

const { path: PATH, missing } = withPrograms('systemd-analyze')
/** Of no account here. */
const SOMEBODY = 12_345

let folder = ''
let dataDir = ''
beforeEach(() => {
  folder = newFolder()
  dataDir = join(folder, 'my archive, 100% ü')
  mkdirSync(dataDir)
  writeFileSync(join(dataDir, 'archivebox.toml'), 'STOP_SECONDS = 7\n')
})
afterEach(() => rmSync(folder, { recursive: true }))

const service = (words: string[], env: Record<string, string> = {}) =>
  program(['service', ...words], { env: { DATA_DIR: dataDir, XDG_CONFIG_HOME: folder, ...env } })
const unitsHere = () => readdirSync(join(folder, 'systemd', 'user')).sort()

describe('service install', () => {
  it('writes the units that show prints; again is no harm; remove takes away what is ours, and nothing else', async () => {
    const shown = await service(['show', '--user'])
    expect(shown.code, shown.stderr).toBe(0)
    expect(shown.stdout).toContain('TimeoutStopSec=17\n')
    for (let times = 0; times < 2; times += 1) expect((await service(['install', '--user'])).code).toBe(0)
    expect(unitsHere()).toEqual(['archivebox-db.service', 'archivebox.service'])
    writeFileSync(join(folder, 'systemd', 'user', 'mine.service'), '[Unit]\n')
    const foreign = await service(['remove', '--user', '--name', 'mine'])
    expect(foreign).toMatchObject({ code: 1, stderr: expect.stringContaining('is not one of ours') })
    expect((await service(['remove', '--user'])).code).toBe(0)
    expect(unitsHere()).toEqual(['mine.service'])
    expect(await service(['remove', '--user'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('no service archivebox of ours'),
    })
  })

  it('does not replace the unit of another data dir, or of somebody else', async () => {
    expect((await service(['install', '--user'])).code).toBe(0)
    const other = join(folder, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'archivebox.toml'), '')
    const refused = await service(['install', '--user'], { DATA_DIR: other })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/another data dir\nhint: .*--name/) })
    expect((await service(['install', '--user', '--name', 'second'], { DATA_DIR: other })).code).toBe(0)
    expect(unitsHere()).toHaveLength(4)
  })

  it('refuses what the service would not know or could not find, and writes nothing', async () => {
    const url = await service(['install', '--user'], { DATABASE_URL: 'postgres://127.0.0.1/x' })
    expect(url).toMatchObject({ code: 2, stderr: expect.stringContaining('would not know DATABASE_URL') })
    const none = await service(['install', '--user'], { DATA_DIR: folder })
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a data dir') })
    const name = await service(['install', '--user', '--name', '../up'])
    expect(name).toMatchObject({ code: 2, stderr: expect.stringContaining('--name takes') })
    expect(readdirSync(folder)).toEqual([basename(dataDir)])
  })

  it('leaves the database to whoever has it: one unit, also where there were two', async () => {
    expect((await service(['install', '--user'])).code).toBe(0)
    writeFileSync(join(dataDir, 'archivebox.toml'), 'DATABASE_URL = "postgres://127.0.0.1/x"\n')
    expect(await service(['install', '--user'])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^removed .*archivebox-db\.service, whose database is not ours any more\nwrote /),
    })
    expect(unitsHere()).toEqual(['archivebox.service'])
  })

  it.skipIf(noMounts)('restarts them when it has changed one', async () => {
    const told = join(folder, 'told')
    mkdirSync(join(folder, 'run', 'systemd'), { recursive: true })
    writeFileSync(join(folder, 'run', 'systemd', 'private'), '')
    writeFileSync(join(folder, 'systemctl'), `#!/bin/sh\necho "$@" >> '${told}'\n`, { mode: 0o755 })
    const booted = 'mount -t tmpfs none /run && mkdir -p /run/systemd/system && exec "$@"'
    const install = async () => {
      rmSync(told, { force: true })
      const env = {
        DATA_DIR: dataDir,
        XDG_CONFIG_HOME: folder,
        XDG_RUNTIME_DIR: join(folder, 'run'),
        PATH: `${folder}:${PATH}`,
      }
      const under = ['unshare', '--mount', 'sh', '-c', booted, 'sh']
      const { code, stderr } = await program(['service', 'install', '--user'], { env, under })
      expect(code, stderr).toBe(0)
      return readFileSync(told, 'utf8').trimEnd().split('\n')
    }
    const [database, runner] = ['archivebox-db.service', 'archivebox.service']
    const start = ['--user daemon-reload', `--user enable ${database} ${runner}`]
    expect(await install()).toEqual([...start, `--user restart ${runner} ${database}`])
    expect(await install()).toEqual([...start, `--user start ${runner} ${database}`])
    writeFileSync(join(dataDir, 'archivebox.toml'), 'STOP_SECONDS = 8\n')
    expect(await install()).toEqual([...start, `--user restart ${runner} ${database}`])
    writeFileSync(join(dataDir, 'archivebox.toml'), 'DATABASE_URL = "postgres://127.0.0.1/x"\n')
    expect(await install()).toEqual([
      `--user disable --now ${database}`,
      '--user daemon-reload',
      '--user daemon-reload',
      `--user enable ${runner}`,
      `--user restart ${runner}`,
    ])
  })
})

describe.skipIf(missing)(`for systemd${missing ? `: ${missing}` : ''}`, () => {
  const analyze = (...words: string[]) =>
    spawnSync('systemd-analyze', words, { cwd: folder, env: { PATH, SYSTEMD_PAGER: '' }, encoding: 'utf8' })

  it('the units are right, and expose 4.0 at most', async () => {
    writeFileSync(join(dataDir, 'archivebox.toml'), 'BACKUP_DIR = "/mnt/of a disk"\n')
    if (process.getuid?.() === 0) chownSync(dataDir, SOMEBODY, SOMEBODY)
    const { stdout } = await service(['show', '--json'])
    const units = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as { file: string; text: string })
    for (const { file, text } of units) writeFileSync(join(folder, file), text)
    const files = units.map(({ file }) => join(folder, file))
    expect(files).toHaveLength(2)
    expect(units[1]!.text).toMatch(/^ReadWritePaths=.* "-\/mnt\/of a disk" /m)
    const checked = analyze('verify', '--man=no', ...files)
    expect(checked.stderr.split('\n').filter((line) => line.includes('archivebox'))).toEqual([])
    expect(checked.status, checked.stderr).toBe(0)
    for (const file of files) {
      const { status, stdout: table, stderr } = analyze('security', '--offline=yes', '--threshold=40', file)
      expect(status, table + stderr).toBe(0)
    }
  })
})
