import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withPrograms } from '../../support/bare-path.ts'
import { newFolder } from '../../support/folders.ts'
import { processesOf } from '../../support/processes.ts'
import { eventually, NODE, program, start } from '../../support/program.ts'
import { expectRefused } from '../../support/refused.ts'

// No database is needed for any of this.
const URL = 'http://127.0.0.1:9/'
let dir: string
beforeAll(() => {
  dir = newFolder()
  writeFileSync(join(dir, 'archivebox.toml'), '# mine\n')
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

async function plugin(words: string, env: Record<string, string> = {}) {
  return await program(['plugin', ...words.split(' ')], { env: { DATA_DIR: dir, TMPDIR: dir, ...env } })
}

function hook(name: string, file: string, script: string, config?: object): void {
  const folder = join(dir, 'plugins', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, file), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, file), 0o755)
  if (config) writeFileSync(join(folder, 'config.json'), JSON.stringify(config))
}

const recordsIn = (text: string) => text.split('\n').flatMap((line) => (line ? [JSON.parse(line)] : []))
const trials = () => readdirSync(dir).filter((name) => name.startsWith('archivebox-ts-plugin-'))

describe('plugin list and show', () => {
  it('say of each in its order whether it is on, what it makes, needs and lacks', async () => {
    hook('needy', 'on_Snapshot__41_needy.sh', 'exit 0', {
      description: 'Much.',
      output_mimetypes: ['text/plain'],
      required_plugins: ['html', 'gone'],
      required_binaries: [{ name: 'no-such-program', binproviders: 'apt' }, 'sh'],
      properties: { NEEDY_MODE: { type: 'string' } },
    })
    const all = recordsIn((await plugin('list')).stdout)
    const names = all.map(({ name }: { name: string }) => name)
    expect(names.indexOf('headers')).toBeLessThan(names.indexOf('needy'))
    expect(names.indexOf('needy')).toBeLessThan(names.indexOf('title'))
    expect(all[names.indexOf('needy')]).toEqual({
      type: 'Plugin',
      name: 'needy',
      enabled: true,
      built_in: false,
      folder: join(dir, 'plugins', 'needy'),
      description: 'Much.',
      makes: ['text/plain'],
      hooks: [{ event: 'Snapshot', name: 'on_Snapshot__41_needy.sh', background: false, timeout: 60 }],
      needs: {
        plugins: ['html', 'gone'],
        programs: [
          { name: 'no-such-program', path: null, min_version: null },
          { name: 'sh', path: expect.stringMatching(/\/sh$/), min_version: null },
        ],
      },
      lacks: ['needs gone, which is not installed', 'no-such-program not found: apt-get install no-such-program'],
      settings: ['NEEDY_MODE', 'NEEDY_TIMEOUT'],
    })
    expect((await plugin('list --lacking')).stdout).toContain('"needy"')
    expect((await plugin('list --lacking')).stdout).not.toContain('"title"')
    expectRefused(await plugin('show titel'), 'there is no plugin titel: did you mean title?')
  })
})

it('plugin show says what is wrong with a config.json', async () => {
  hook('broken', 'on_Snapshot__41_broken.sh', 'exit 0')
  for (const [text, why] of [
    ['{bad', /^config\.json is not JSON: .*position 1/],
    ['[]', /^config\.json is not a JSON object$/],
    ['{}', undefined],
  ] as const) {
    writeFileSync(join(dir, 'plugins', 'broken', 'config.json'), text)
    const [shown] = recordsIn((await plugin('show broken')).stdout) as { lacks: string[] }[]
    expect(shown!.lacks).toEqual(why ? [expect.stringMatching(why)] : [])
  }
})

describe('plugin enable and disable', () => {
  it('turn it on and off in archivebox.toml, and say when that does not count', async () => {
    const isOn = async () => recordsIn((await plugin('show title')).stdout)[0].enabled
    expect((await plugin('disable title html')).code).toBe(0)
    expect(readFileSync(join(dir, 'archivebox.toml'), 'utf8')).toBe(
      '# mine\nTITLE_ENABLED = false\nHTML_ENABLED = false\n',
    )
    expect(await isOn()).toBe(false)
    const { stderr } = await plugin('enable title html', { SAVE_TITLE: 'no' })
    expect(stderr).toContain('warning: TITLE_ENABLED is also set in the environment, which overrides this')
    expect(await isOn()).toBe(true)
    expectRefused(await plugin('enable title nope'), 'there is no plugin nope')
  })
})

describe('plugin run', () => {
  it('shows records on stdout and all else on stderr, keeps the exit code, and leaves nothing', async () => {
    hook(
      'trial',
      'on_Snapshot__40_trial.sh',
      [
        'echo "$1 $TRIAL_MODE" >made.txt',
        `echo '{"type": "Snapshot", "url": "http://found.example/"}'`,
        'echo message; echo trouble >&2; exit 7',
      ].join('\n'),
    )
    const { code, stdout, stderr } = await plugin(`run -c TRIAL_MODE=x trial ${URL}`)
    expect(code, stderr).toBe(7)
    expect(recordsIn(stdout)).toEqual([{ type: 'Snapshot', url: 'http://found.example/' }])
    expect(stderr).toMatch(/^on_Snapshot__40_trial\.sh exit code 7 after [\d.]+ s\n {2}trouble\n {2}message\nmade /)
    expect(stderr).toContain('made trial/made.txt')
    expect(trials()).toEqual([])
    expect(readdirSync(dir).sort()).toEqual(['.config.lock', 'archivebox.toml', 'plugins'])
  })

  it('runs what a plugin requires first, one in the background beside it, and a disabled one, too', async () => {
    hook(
      'server',
      'on_CrawlSetup__10_server.bg.sh',
      ['trap "echo stopped >&2; exit 0" TERM', 'echo ready', 'while :; do sleep 0.05; done'].join('\n'),
    )
    hook('client', 'on_Snapshot__40_client.sh', 'ls ../../crawl >&2', { required_plugins: ['server'] })
    const { code, stderr } = await plugin(`run --keep client ${URL}`, { CLIENT_ENABLED: 'false' })
    expect(code, stderr).toBe(0)
    expect(stderr.indexOf('on_CrawlSetup__10_server.bg.sh runs')).toBeLessThan(stderr.indexOf('on_Snapshot__40'))
    expect(stderr).toMatch(/on_Snapshot__40_client\.sh exit code 0.*\n {2}server\n/)
    expect(stderr).toMatch(/server\.bg\.sh exit code 0.*\n(.*\n)? {2}stopped\n {2}ready\n/)
    const [kept] = trials()
    expect(stderr).toContain(`kept in ${join(dir, kept!)}`)
    rmSync(join(dir, kept!), { recursive: true })
  })

  it('ends what takes too long, with all that it started', async () => {
    hook('slow', 'on_Snapshot__40_slow.sh', 'sleep 1000 & sleep 1000')
    const { code, stderr } = await plugin(`run -c SLOW_TIMEOUT=0.3 slow ${URL}`)
    expect([code, stderr]).toEqual([124, expect.stringContaining('killed after its timeout of 0.3 s')])
    expect(processesOf(dir)).toEqual([])
  })

  it('takes a background hook that dies of our SIGTERM for a good one, as a page does', async () => {
    hook('plain', 'on_Snapshot__40_plain.bg.sh', 'echo ready; while :; do sleep 0.05; done')
    const { code, stderr } = await plugin(`run plain ${URL}`)
    expect([code, stderr]).toEqual([0, expect.stringContaining('plain.bg.sh ended when it was asked to')])
  })

  it.each(['SIGINT', 'SIGHUP'] as const)('ends everything at %s', async (signal) => {
    hook('browser', 'on_CrawlSetup__10_browser.bg.sh', 'echo ready; sleep 1000')
    hook('long', 'on_Snapshot__40_long.sh', 'echo begun >&2; sleep 1000', { required_plugins: ['browser'] })
    const running = start(['plugin', 'run', 'long', URL], { env: { DATA_DIR: dir, TMPDIR: dir } })
    await eventually(() => processesOf(dir).some(({ command }) => command.includes('on_Snapshot__40_long.sh')))
    running.signal(signal)
    expect((await running.finished()).code).toBe(130)
    expect(processesOf(dir)).toEqual([])
    expect(trials()).toEqual([])
  })

  it('refuses what it cannot run', async () => {
    expectRefused(await plugin(`run titel ${URL}`), 'did you mean title?')
    expectRefused(await plugin('run title ftp://x/'), 'only http and https can be archived: ftp://x/')
    expectRefused(await plugin(`run -c TITLE_TIMEOUT=soon title ${URL}`), '-c TITLE_TIMEOUT=soon: it takes')
    expect((await plugin(`run needy ${URL}`)).stderr).toContain('warning: no-such-program not found')
  })
})

describe('plugin new', () => {
  const python = withPrograms('python3')
  const runs = { sh: ['sh'], js: [NODE, '--test'], py: ['python3'] } as const
  const testOf = (name: string, lang: keyof typeof runs) => {
    const [command, ...words] = [...runs[lang], join(dir, 'plugins', name, `test.${lang}`)]
    return spawnSync(command, words, { env: { PATH: python.path, TMPDIR: tmpdir() } }).status
  }

  for (const lang of ['sh', 'js', 'py'] as const) {
    const missing = lang === 'py' ? python.missing : false
    it.skipIf(missing)(`makes one in ${lang} that runs, with a test that can fail ${missing || ''}`, async () => {
      const name = `mine_${lang}`
      const { code, stdout, stderr } = await plugin(`new ${name} --lang ${lang}`)
      expect(code, stderr).toBe(0)
      const prefix = name.toUpperCase()
      expect(recordsIn(stdout)[0]).toMatchObject({ name, settings: [`${prefix}_ENABLED`, `${prefix}_TIMEOUT`] })
      const run = await plugin(`run ${name} ${URL}`, { PATH: python.path })
      const result = { type: 'ArchiveResult', status: 'succeeded', output_str: '0 bytes of HTML' }
      expect([run.code, recordsIn(run.stdout)]).toEqual([0, [result]])
      expect(testOf(name, lang)).toBe(0)
      const file = join(dir, 'plugins', name, `on_Snapshot__60_${name}.${lang}`)
      writeFileSync(file, readFileSync(file, 'utf8').replace('of HTML', 'of nothing'))
      expect(testOf(name, lang)).toBe(1)
    })
  }

  it('refuses a name that is taken, or is none', async () => {
    expectRefused(await plugin('new title'), 'a plugin title exists already')
    expectRefused(await plugin('new My-Plugin'), 'has only lowercase letters')
    expect((await plugin('new x --lang cobol')).code).toBe(2)
  })
})
