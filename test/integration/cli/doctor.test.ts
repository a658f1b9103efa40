import { chmodSync, existsSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { withPrograms } from '../../support/bare-path.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { noOtherUser } from '../../support/other-user.ts'
import { plugin } from '../../support/plugins.ts'
import { processesOf } from '../../support/processes.ts'
import { type Call, program } from '../../support/program.ts'

interface Line {
  readonly name: string
  readonly status: string
  readonly message: string
  readonly command: string | null
}

const homes = useHomes()
let home: TestHome
beforeEach(async () => {
  home = await homes.make()
})

async function doctor(words: readonly string[] = [], call: Call = {}) {
  // What this machine's user has installed for plugins is not for this home.
  const env = { ABXPKG_LIB_DIR: join(home.dataDir, 'lib'), ...call.env }
  const finished = await home.run(['doctor', ...words], { ...call, env })
  const lines = finished.stdout.split('\n').flatMap((line) => (line ? [JSON.parse(line) as Line] : []))
  return { ...finished, lines, of: (name: string) => lines.find((line) => line.name === name) }
}

/** Plugin `needy`, which needs a program that nobody has. */
function needy(): void {
  plugin(home, 'needy', 'exit 0')
  const config = { required_binaries: [{ name: 'no-such-program', binproviders: 'apt' }] }
  writeFileSync(join(home.dataDir, 'plugins', 'needy', 'config.json'), JSON.stringify(config))
}

describe('doctor', () => {
  it('looks at everything that archiving needs', async () => {
    const { code, lines, of, stderr } = await doctor()
    expect(code, stderr).toBe(0)
    // A line for each plugin that lacks something.
    expect([...new Set(lines.map(({ name }) => name))]).toEqual(
      [
        'node',
        'package',
        'settings',
        'data dir',
        'disk',
        'inodes',
        'personas',
        'secrets',
        'database',
        'clock',
        'wire',
        'failover',
        'backup',
        'processes',
        'memory',
        '/dev/shm',
        'descriptors',
        'process limit',
        'temporary files',
      ].concat(['network', 'containment', 'browser', 'wget', 'git', 'python', 'yt-dlp', 'plugins']),
    )
    expect(lines.filter(({ status }) => status === 'red')).toEqual([])
    expect(of('database')!.message).toMatch(/^PostgreSQL \d+.*, external, \d+ MB, schema \d+$/)
    expect(of('clock')!.message).toMatch(/^the database clock agrees within /)
    expect(of('git')).toMatchObject({ status: 'green', message: expect.stringMatching(/^\d+\.\d+.* \(\/.*git\)$/) })
    expect(of('wget')).toMatchObject({ status: 'yellow', command: 'apt-get install wget' })
    expect(of('browser')).toMatchObject({
      message: expect.stringMatching(/^\d+\.\d+\.\d+, packaged(?:, without its sandbox: .*)?, built 20\d\d-\d\d-\d\d/),
    })
    expect(of('yt-dlp')).toMatchObject({ status: 'yellow', command: 'archivebox-ts plugin install ytdlp' })
    expect(of('python')).toMatchObject({ status: 'green', message: 'not found; no plugin here needs it' })
  })

  it('says red, with what mends it, and answers 1, when no page could be archived', async () => {
    const env = { TIMEOUT: 'soon', DISK_FLOOR: '999999999' }
    const wrong = await doctor([], { env: { ...env, DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/x' } })
    expect([wrong.code, wrong.stdout.includes('hunter2')]).toEqual([1, false])
    expect(wrong.of('secrets')).toMatchObject({
      status: 'yellow',
      command: expect.stringContaining('DATABASE_URL_FILE'),
    })
    expect(wrong.of('settings')).toMatchObject({ status: 'red', command: 'archivebox-ts config edit' })
    expect(wrong.of('settings')!.message).toMatch(/^TIMEOUT=soon: it takes a number of seconds/)
    expect(wrong.of('disk')).toMatchObject({ status: 'red', message: expect.stringContaining('DISK_FLOOR') })
    expect(wrong.of('database')).toMatchObject({ status: 'red', message: expect.stringContaining('ECONNREFUSED') })
    await home.query(`insert into schema_migration (version, name) values (9999, 'future')`)
    const newer = await doctor()
    expect([newer.code, newer.of('database')?.status]).toEqual([1, 'red'])
    expect(newer.of('database')!.message).toContain('its schema 9999 is from a newer archivebox-ts')
  })

  it.skipIf(noOtherUser)(`says which limit of the machine ends programs ${noOtherUser || ''}`, async () => {
    const { of } = await doctor([], {
      env: { TMPDIR: '/proc' },
      uid: 65534,
      under: ['prlimit', '--nproc=200'],
    })
    expect(of('process limit')).toMatchObject({ status: 'yellow', message: expect.stringMatching(/^200 at most: /) })
    expect(of('temporary files')).toMatchObject({ status: 'yellow', message: expect.stringMatching(/^\/proc: EACCES/) })
  })

  it('names what a plugin lacks, waits for no program, and leaves none behind', async () => {
    needy()
    const bin = join(home.dataDir, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'git'), '#!/bin/sh\nexec sleep 1000\n')
    chmodSync(join(bin, 'git'), 0o755)
    const off = { WGET_ENABLED: 'false', YTDLP_ENABLED: 'false' }
    const env = { ...off, PATH: `${bin}:${process.env['PATH']}`, CHROME_BINARY: 'no-chrome' }
    const { code, of } = await doctor([], { env })
    expect(code).toBe(0)
    expect(of('browser')).toMatchObject({ status: 'yellow', message: 'CHROME_BINARY: there is no program no-chrome' })
    expect(of('git')).toMatchObject({ message: expect.stringMatching(/bin\/git|no answer after/) })
    expect(of('wget')).toMatchObject({ status: 'green', message: 'not found; no plugin here needs it' })
    expect(of('plugins')).toEqual({
      type: 'Check',
      name: 'plugins',
      status: 'yellow',
      message: 'needy: no-such-program not found',
      command: 'apt-get install no-such-program',
    })
    expect(processesOf(home.dataDir)).toEqual([])
  })

  const wget = withPrograms('wget')
  it.skipIf(wget.missing)(`finds programs by their names ${wget.missing || ''}`, async () => {
    expect((await doctor([], { env: { PATH: wget.path } })).of('wget')?.message).toMatch(/^\d+\.\d+.* \(\/.*wget\)$/)
  })

  it('mends with --fix what needs no rights: folders, and a data dir that is not there', async () => {
    rmSync(join(home.dataDir, 'personas'), { recursive: true })
    const { of, stderr } = await doctor()
    expect(of('data dir')).toMatchObject({ status: 'yellow', command: `mkdir ${join(home.dataDir, 'personas')}` })
    expect(stderr).toContain('archivebox-ts doctor --fix fixes')
    const fixed = await doctor(['--fix'])
    expect(fixed.stderr).toContain(`data dir: created ${join(home.dataDir, 'personas')}`)
    expect(fixed.of('data dir')).toMatchObject({ status: 'green' })
    const persona = join(home.dataDir, 'personas', 'Mine')
    mkdirSync(persona)
    chmodSync(persona, 0o750)
    expect((await doctor(['--fix'])).of('personas')).toMatchObject({ status: 'green', message: '1 persona' })
    expect(statSync(persona).mode & 0o777).toBe(0o700)
    const other = join(home.dataDir, 'other')
    const made = await program(['doctor', '--fix'], { env: { DATA_DIR: other } })
    expect([made.code, existsSync(join(other, 'archivebox.toml'))]).toEqual([0, true])
    expect(existsSync(join(other, 'postgres'))).toBe(false)
    expect(statSync(join(other, 'archive')).mode & 0o777).toBe(0o700)
  })

  it('names an archive that all can read, where pages are seen with logins, and closes it', async () => {
    const archive = join(home.dataDir, 'archive')
    const cookies = join(home.dataDir, 'personas', 'Mine', 'cookies.txt')
    mkdirSync(dirname(cookies), { mode: 0o700 })
    chmodSync(archive, 0o755)
    expect((await doctor()).of('personas')).toMatchObject({ status: 'green' })
    writeFileSync(cookies, 'example.com\tFALSE\t/\tFALSE\t0\tsid\t1\n')
    const { of } = await doctor()
    expect(of('personas')).toMatchObject({ status: 'yellow', command: `chmod go= ${archive}` })
    chmodSync(archive, 0o750) // A group was let in.
    expect((await doctor()).of('personas')).toMatchObject({ status: 'green' })
    chmodSync(archive, 0o755)
    expect((await doctor(['--fix'])).stderr).toContain(`personas: closed ${archive} to others`)
    expect(statSync(archive).mode & 0o777).toBe(0o700)
  })

  it.skipIf(noOtherUser)('names a program that hooks, as another account, cannot start', async () => {
    const [bin, closed] = [join(home.dataDir, 'bin'), join(home.dataDir, 'closed')]
    for (const folder of [bin, closed]) mkdirSync(folder)
    for (const [name, interpreter] of [
      ['yt-dlp', join(closed, 'sh')],
      ['wget', '/bin/sh'],
    ] as const)
      writeFileSync(join(bin, name), `#!${interpreter}\necho 1.2.3\n`, { mode: 0o755 })
    writeFileSync(join(bin, 'git'), `#!/bin/sh\nexec ${join(closed, 'sh')} -c 'echo 1.2.3'\n`, { mode: 0o755 })
    symlinkSync('/bin/sh', join(closed, 'sh'))
    chmodSync(closed, 0o700)
    const env = { PATH: `${bin}:${process.env['PATH']}`, HOOK_USER: 'nobody' }
    const { of } = await doctor([], { env })
    expect(of('wget')).toMatchObject({ status: 'green', message: `1.2.3 (${join(bin, 'wget')})` })
    expect(of('yt-dlp')).toMatchObject({
      status: 'yellow',
      message: `hooks run as user nobody, who cannot start ${join(bin, 'yt-dlp')}`,
    })
    // A script that starts another one; there may be a git further along PATH.
    expect(of('git')).not.toMatchObject({ status: 'green', message: expect.stringContaining(join(bin, 'git')) })
    const lacking = await home.run(['plugin', 'list', '--lacking', '--json'], { env })
    const named = lacking.stdout.split('\n').filter((line) => line.includes('"ytdlp"'))
    expect(named).toEqual([expect.stringContaining(`cannot start ${join(bin, 'yt-dlp')}: install it for all users"`)])
    expect((await doctor([], { env: { PATH: env.PATH } })).of('yt-dlp')).toMatchObject({ status: 'green' })
    // Hooks find the next one along PATH.
    const later = join(home.dataDir, 'later')
    mkdirSync(later)
    writeFileSync(join(later, 'yt-dlp'), '#!/bin/sh\necho 3.2.1\n', { mode: 0o755 })
    const next = (await doctor([], { env: { ...env, PATH: `${bin}:${later}:${process.env['PATH']}` } })).of('yt-dlp')
    expect(next).toMatchObject({ status: 'green', message: `3.2.1 (${join(later, 'yt-dlp')})` })
  })

  it('says what stands in the way of a data dir', async () => {
    writeFileSync(join(home.dataDir, 'file'), '')
    const { code, stdout } = await program(['doctor'], { env: { DATA_DIR: join(home.dataDir, 'file', 'below') } })
    expect([code, stdout]).toEqual([1, expect.stringContaining('is not a directory')])
  })
})

describe('run', () => {
  it('says at its start what is missing, and nothing of what is fine', async () => {
    needy()
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { WGET_ENABLED: 'false' } })
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/ runner +plugins: needy: no-such-program not found -> apt-get install no-such-program/)
    expect(stderr).not.toMatch(/ (descriptors|containment|git): /)
    const add = await home.run(['add', '--run', '--plugins', 'needy', 'http://127.0.0.1:9/'])
    expect(add.stderr).not.toContain('plugins: needy')
  })
})
