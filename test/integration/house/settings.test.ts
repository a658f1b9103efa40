import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { machineFile, machineGuid } from '../../../src/base/machine-file.ts'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { newFolder, useHomes } from '../../support/homes.ts'
import { plugin } from '../../support/plugins.ts'
import { eventually, program } from '../../support/program.ts'
import { expectRefused } from '../../support/refused.ts'
import { type Site, startSite } from '../../support/site.ts'

const URL = 'http://127.0.0.1:9/'
const VERBS = [['add', URL], ['run', '--exit-on-idle'], ['init'], ['status']]

const homes = useHomes()
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

describe('bad settings', () => {
  it.each(VERBS)('in the environment are all named at once by %s, and nothing is written', async (...args) => {
    const env = {
      DATA_DIR: join(folder, 'data'),
      DISK_FLOOR: 'lots',
      MAX_SNAPSHOT_WORKERS: '-3',
      LOG_LEVEL: 'verbose',
      TIMEOUT: 'soon',
      WGET_TIMEOUT: 'never',
      TITLE_ENABLED: 'perhaps',
    }
    expectRefused(
      await program(args, { env }),
      'DISK_FLOOR=lots: it takes a number of MB, 0 or more (set in the environment)',
      'MAX_SNAPSHOT_WORKERS=-3: it takes a whole number from 1 to 1000 (set in the environment)',
      'LOG_LEVEL=verbose: it takes one of debug, info, warn, error (set in the environment)',
      / TIMEOUT=soon: it takes a number of seconds, 0 or more \(set in the environment\)/,
      'WGET_TIMEOUT=never',
      'TITLE_ENABLED=perhaps: it takes true or false',
    )
    expect(readdirSync(folder)).toEqual([])
  })

  it.each(VERBS)('in archivebox.toml are all named at once, with the file, by %s', async (...args) => {
    const file = join(folder, 'archivebox.toml')
    writeFileSync(file, 'TIMEOUT = "soon"\nHOOK_HOST = "maybe"\n[workers]\nmax_crawl_workers = 0\nDISK_FLOOR = -1\n')
    const env = { DATA_DIR: folder, DISK_FLOOR: '10' } // The environment wins, and is fine.
    expectRefused(
      await program(args, { env }),
      `TIMEOUT=soon: it takes a number of seconds, 0 or more (set in ${file})`,
      `HOOK_HOST=maybe: it takes true or false (set in ${file})`,
      `MAX_CRAWL_WORKERS=0: it takes a whole number from 1 to 1000 (set in ${file})`,
    )
    expect(readdirSync(folder)).toEqual(['archivebox.toml'])
  })

  it('of a plugin are those that its config.json does not take; a secret one is not shown', async () => {
    mkdirSync(join(folder, 'plugins', 'mine'), { recursive: true })
    writeFileSync(join(folder, 'archivebox.toml'), 'MINE_DEPTH = 9\nMINE_MODE = "odd"\n')
    writeFileSync(
      join(folder, 'plugins', 'mine', 'config.json'),
      JSON.stringify({
        properties: {
          MINE_DEPTH: { type: 'integer', minimum: 1, maximum: 5 },
          MINE_MODE: { type: 'string', enum: ['a', 'b'] },
          MINE_PIN: { type: 'string', pattern: '^\\d+$', 'x-sensitive': true },
          MINE_ARGS: { type: 'array' },
        },
      }),
    )
    expectRefused(
      await program(['status'], { env: { DATA_DIR: folder, MINE_PIN: 'hunter2', MINE_ARGS: '[1,' } }),
      'MINE_DEPTH=9: it takes a whole number from 1 to 5',
      'MINE_MODE=odd: it takes one of a, b',
      /error: MINE_PIN: it takes text that matches/,
      'MINE_ARGS=[1,: it takes a JSON array',
    )
  })

  it('on the command line are refused: an option that holds nothing', async () => {
    expectRefused(
      await program(['add', '--data-dir', '', '--database-url', ' ', URL], { cwd: folder, env: {} }),
      '--data-dir takes a path',
      '--database-url takes a URL',
    )
    expect(readdirSync(folder)).toEqual([])
  })

  it('are what a blank one is not: it is not set', async () => {
    const home = await homes.make()
    const { code, stderr } = await home.run(['add', URL], {
      env: { TIMEOUT: '', LOG_LEVEL: ' ', MAX_SNAPSHOT_WORKERS: '' },
    })
    expect(code, stderr).toBe(0)
  })
})

describe('a name in archivebox.toml that nobody knows', () => {
  it('is said when a setting was most likely meant, and is let through: hooks may know it', async () => {
    const home = await homes.make()
    appendFileSync(join(home.dataDir, 'archivebox.toml'), 'TIMEUOT = 5\nMY_OWN = 1\n')
    const { code, stderr } = await home.run(['add', URL])
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('warning: TIMEUOT in archivebox.toml is not a setting: did you mean TIMEOUT?')
    expect(stderr).not.toContain('MY_OWN')
  })
})

describe('add', () => {
  it('names all that is wrong with a crawl at once, what is wrong with the environment included', async () => {
    const words = [
      'FOO=1',
      'TIMEUOT=3',
      'TIMEOUT=soon',
      'TITLE_TIMEOUT=never',
      'HTML_MAX_SIZE=huge',
      'MAX_SNAPSHOT_WORKERS=1',
    ]
    const settings = [...words, 'PGPASSWORD=hunter2', 'ARCHIVEBOX_TERM=5', 'NO_EQUALS'].flatMap((word) => ['-c', word])
    const limits = [
      '--url-allowlist',
      'a.example,[',
      '--url-denylist',
      '(',
      '--plugins',
      'title,nope',
      '--depth',
      '9',
      '--max-urls',
      'x',
    ]
    const finished = await program(['add', ...settings, ...limits, URL], {
      env: { DATA_DIR: join(folder, 'data'), DISK_FLOOR: 'lots' },
    })
    expectRefused(
      finished,
      'DISK_FLOOR=lots',
      '-c FOO is not a setting of the program or of a plugin: plugins declare theirs in their config.json',
      '-c TIMEUOT is not a setting: did you mean TIMEOUT?',
      '-c TIMEOUT=soon: it takes a number of seconds',
      '-c TITLE_TIMEOUT=never: it takes a number of seconds',
      '-c HTML_MAX_SIZE=huge: it takes a size',
      '-c MAX_SNAPSHOT_WORKERS cannot be set for a crawl',
      '-c PGPASSWORD is kept from hooks',
      '-c ARCHIVEBOX_TERM is kept from hooks',
      '-c takes KEY=VALUE',
      /--url-allowlist: \[ is neither a domain nor a regular expression/,
      /--url-denylist: \( is neither a domain nor a regular expression/,
      /--plugins: there is no plugin nope; there are: .*favicon, git, hashes, headers, html, .*title, .*wget/,
      '--depth takes a whole number',
      '--max-urls takes a whole number',
    )
    expect(readdirSync(folder)).toEqual([])
    expectRefused(
      await program(['crawl', 'create', '-c', 'FOO=1', '--plugins', 'nope', URL], { env: { DATA_DIR: folder } }),
      '-c FOO is not a setting',
      'there is no plugin nope',
    )
  })

  it('takes for a crawl what the program knows, what a plugin declares, and what is set for all', async () => {
    const home = await homes.make()
    plugin(home, 'quiet', 'exit 0')
    const words = ['timeout=5', 'TITLE_ENABLED=no', 'WGET_TIMEOUT=0.5', 'HTML_MAX_SIZE=1mb', 'WGET_ARGS_EXTRA=["-4"]']
    const more = [
      'SAVE_FAVICON=false',
      'USER_AGENT=me',
      'HTTPS_PROXY=http://proxy.example:8080',
      'QUIET_COLOUR=red',
      'QUIET_TIMEOUT=3',
    ]
    const { code, stdout, stderr } = await home.run([
      'add',
      ...[...words, ...more].flatMap((word) => ['-c', word]),
      URL,
    ])
    expect(code, stderr).toBe(0)
    const { id } = JSON.parse(stdout) as { id: string }
    expect(await home.value(`select config -> 'env' from crawl where id = $1`, [id])).toEqual({
      TIMEOUT: '5',
      TITLE_ENABLED: 'no',
      WGET_TIMEOUT: '0.5',
      HTML_MAX_SIZE: '1mb',
      WGET_ARGS_EXTRA: '["-4"]',
      FAVICON_ENABLED: 'false', // An alias is kept under the name that counts.
      USER_AGENT: 'me',
      HTTPS_PROXY: 'http://proxy.example:8080',
      QUIET_COLOUR: 'red',
      QUIET_TIMEOUT: '3',
    })
    expectRefused(await home.run(['add', '-c', 'QUIET_TIMEUOT=3', URL]), 'did you mean QUIET_TIMEOUT?')
    const ofMachines = ['WGET_BINARY=/bin/w', 'HOME=/tmp', 'PATH=/tmp', 'ABX_PLUGINS_DIR=/tmp', 'CHROME_SANDBOX=false']
    expectRefused(
      await home.run(['add', ...ofMachines.flatMap((word) => ['-c', word]), URL]),
      ...ofMachines.map(
        (word) => `-c ${word.split('=')[0]} cannot be set for a crawl: set it in the environment or in`,
      ),
    )
  })
})

describe('a crawl', () => {
  it('keeps the settings with which it was created, and shows where they came from; a machine keeps its own', async () => {
    const home = await homes.make()
    plugin(
      home,
      'notes',
      `printf '%s ' "$NOTES_A" "$NOTES_B" "$NOTES_C" "$NOTES_D" "$NOTES_E" "$NOTES_DIR" "$NOTES_OWN_DIR" \
      >env.txt`,
    )
    const names = ['A', 'B', 'C', 'D', 'E', 'DIR', 'OWN_DIR', 'API_KEY'].map((name) => [
      `NOTES_${name}`,
      { type: 'string' },
    ])
    const config = { properties: { ...Object.fromEntries(names), NOTES_D: { default: 'plain' } } }
    writeFileSync(join(home.dataDir, 'plugins', 'notes', 'config.json'), JSON.stringify(config))
    const file = join(home.dataDir, 'archivebox.toml')
    const written = readFileSync(file, 'utf8')
    writeFileSync(file, `${written}\nNOTES_B = "file"\nNOTES_C = "file"\nNOTES_E = "file"\n`)
    const machine = join(home.dataDir, 'machines', machineFile(machineGuid()))
    mkdirSync(dirname(machine))
    writeFileSync(machine, 'NOTES_B = "machine"\nNOTES_E = "machine"\nNOTES_OWN_DIR = "/machine/then"\n')
    const args = ['add', '--plugins', 'notes', '-c', 'NOTES_A=crawl', '-c', 'NOTES_API_KEY=hush']
    const env = { NOTES_A: 'environment', NOTES_B: 'environment', NOTES_DIR: '/then', NOTES_API_KEY: 'hush' }
    const added = await home.run([...args, `${site.url}/page-1.html`], { env })
    expect(added.code, added.stderr).toBe(0)
    const { id, settings } = JSON.parse(added.stdout) as { id: string; settings: object }
    expect(Object.fromEntries(Object.entries(settings).filter(([name]) => name.startsWith('NOTES')))).toEqual({
      NOTES_A: { value: 'crawl', source: 'crawl' },
      NOTES_API_KEY: { value: '***', source: 'crawl' },
      NOTES_B: { value: 'environment', source: 'environment' },
      NOTES_C: { value: 'file', source: 'archivebox.toml' },
      NOTES_E: { value: 'machine', source: 'machine' },
    })
    writeFileSync(file, `${written}\nNOTES_C = "later"\nNOTES_OWN_DIR = "/file"\n`)
    writeFileSync(machine, 'NOTES_E = "later"\nNOTES_OWN_DIR = "/machine/now"\nNOTES_DIR = "/machine"\n')
    const later = { NOTES_A: 'later', NOTES_B: 'later', NOTES_DIR: '/now' }
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: later })
    expect(code, stderr).toBe(0)
    const [page] = await expectComplete(home, id)
    const told = readFileSync(join(home.dataDir, page!.output_dir, 'notes', 'env.txt'), 'utf8')
    expect(told).toBe('crawl environment file plain machine /now /machine/now ')
  })
})

describe('a crawl of an older version', () => {
  it('with settings that would be refused today is archived without them, and each is said once', async () => {
    const home = await homes.make()
    plugin(home, 'notes', `printf '%s %s' "$TIMEOUT" "$NOTES_MODE" >env.txt`)
    const config = { properties: { NOTES_MODE: { type: 'string', enum: ['a', 'b'] } } }
    writeFileSync(join(home.dataDir, 'plugins', 'notes', 'config.json'), JSON.stringify(config))
    const crawl = await home.add('--plugins', 'html,notes', `${site.url}/page-1.html`, `${site.url}/page-2.html`)
    const old = {
      env: { TIMEOUT: 'soon', HOOK_RETRIES: '-1', NOTES_MODE: 'odd', FOO: '1' },
      url_denylist: '[',
      plugins: ['html', 'notes', 'gone'],
    }
    await home.query('update crawl set config = $1 where id = $2', [JSON.stringify(old), crawl])
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { TIMEOUT: '50' } })
    expect(code, stderr).toBe(0)
    const pages = await expectComplete(home, crawl)
    expect((await resultsOf(home, crawl)).map(({ status }) => status)).toEqual(Array(4).fill('succeeded'))
    for (const { output_dir } of pages)
      expect(readFileSync(join(home.dataDir, output_dir, 'notes', 'env.txt'), 'utf8')).toBe('50 ')
    for (const reason of ['TIMEOUT=soon', 'HOOK_RETRIES=-1', 'NOTES_MODE=odd', 'the pattern \\[ matches nothing'])
      expect(stderr.match(new RegExp(`crawl ${crawl}: ${reason}`, 'g')), stderr).toHaveLength(1)
    expect(stderr).not.toContain('FOO')
  })
})

describe('the command line', () => {
  it('wins over the environment, for the workers, too', async () => {
    const home = await homes.make()
    await home.add('--plugins', 'html', `${site.url}/page-1.html`)
    const { code, stderr } = await home.run(['run', '--exit-on-idle', '-v'], { env: { LOG_LEVEL: 'error' } })
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/ runner +started worker pid/)
    expect(stderr).toMatch(/ crawl +started worker pid/)
  })
})

describe('the settings of a runner', () => {
  it('hold for its workers until it ends, whatever becomes of archivebox.toml', async () => {
    const home = await homes.make()
    plugin(home, 'notes', 'printf %s "$NOTES_PLACE" >place.txt')
    writeFileSync(join(home.dataDir, 'archivebox.toml'), 'NOTES_PLACE = "here"\n')
    const runner = home.start(['run'])
    await runner.says(/leading/)
    writeFileSync(join(home.dataDir, 'archivebox.toml'), 'NOTES_PLACE = "there"\n')
    const crawl = await home.add('--plugins', 'notes', `${site.url}/page-1.html`)
    await eventually(() => home.value(`select true from crawl where id = $1 and status = 'sealed'`, [crawl]))
    runner.signal('SIGINT')
    expect((await runner.finished()).code).toBe(0)
    const [page] = await expectComplete(home, crawl)
    expect(readFileSync(join(home.dataDir, page!.output_dir, 'notes', 'place.txt'), 'utf8')).toBe('here')
  })
})
