import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { latestRows } from '../../../src/db/latest-rows.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { NODE, PROGRAM, program } from '../../support/program.ts'
import { records } from '../../support/records.ts'
import { expectRefused } from '../../support/refused.ts'
import { noTmux, Terminal } from '../../support/tmux.ts'

const homes = useHomes()
let home: TestHome
let bin: string
beforeEach(async () => {
  home = await homes.make()
  bin = join(home.dataDir, 'bin')
  mkdirSync(bin)
  const env = `DATA_DIR='${home.dataDir}' DATABASE_URL='${home.databaseUrl}'`
  writeFileSync(join(bin, 'archivebox-ts'), `#!/bin/sh\nexec env ${env} '${NODE}' '${PROGRAM}' "$@"\n`)
  chmodSync(join(bin, 'archivebox-ts'), 0o755)
})

/** What bash would offer: it hands over the words as it splits them. */
function inBash(...words: readonly string[]): string[] {
  const script = `source <(archivebox-ts completion bash)
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _archivebox_ts; printf '%s\\n' "\${COMPREPLY[@]}"`
  const env = { PATH: [bin, process.env['PATH']].join(delimiter) }
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', 'archivebox-ts', ...words], { env })
  expect(stderr.toString()).toBe('')
  return stdout.toString().split('\n').filter(Boolean)
}

it('gives up on a database that falls silent', async () => {
  const { host, port, user, password, database } = new pg.Client({ connectionString: home.databaseUrl })
  // Between us and the server: it takes the question, and never passes it on.
  const silent = createServer((client) => {
    const server = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
    client.on('data', (bytes) => void (bytes.includes('from tag') || server.write(bytes)))
    client.on('close', () => server.destroy()).on('error', () => {})
    server.on('data', (bytes) => client.write(bytes)).on('error', () => {})
  })
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const at = `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const url = `postgresql://${user}:${encodeURIComponent(String(password))}@${at}/${database}`
  await expect(latestRows(url, home.dataDir, 'tag', '')).rejects.toThrow(/did not answer within/)
  await new Promise((resolve) => silent.close(resolve))
})

describe('completion in bash', () => {
  it('offers verbs, options, plugins, settings, and the ids and tags of the database', async () => {
    const crawl = await home.add('--tag', 'two words', '--label', 'mine', 'http://127.0.0.1:9/')
    await home.query(`insert into tag (name) values ('two words'), ('news')`)
    expect(inBash('sna')).toEqual(['snapshot'])
    expect(inBash('add', '--max-u')).toEqual(['--max-urls'])
    expect(inBash('plugin', 'show', 'tit')).toEqual(['title'])
    expect(inBash('config', 'set', 'WGET_ENA')).toEqual(['WGET_ENABLED='])
    expect(inBash('config', 'set', 'WGET_ENABLED', '=')).toEqual(['true', 'false'])
    expect(inBash('add', '-c', 'WGET_ENABLED', '=', 'fa')).toEqual(['false'])
    expect(inBash('process', 'list', '--type', '=', 'wor')).toEqual(['worker'])
    expect(inBash('crawl', 'show', '')).toEqual([crawl.slice(-8)])
    expect(inBash('crawl', 'show', crawl.slice(0, 9))).toEqual([crawl])
    expect(inBash('snapshot', 'list', '--crawl-id', crawl.slice(-8, -4))).toEqual([crawl.slice(-8)])
    expect(inBash('add', '--tag', 'tw')).toEqual(['two\\ words'])
    expect(inBash('add', '--tag', 'news,')).toEqual(['news\\,two\\ words'])
    const [schedule] = await records(home, ['schedule', 'add', '--every', 'day', 'http://127.0.0.1:9/'])
    expect(inBash('schedule', 'run', '')).toEqual([schedule!.id.slice(-8)])
    expect(inBash('tag', 'merge', 'two\\ words', 'ne')).toEqual(['news'])
    expect(inBash('snapshot', 'tag', '--remove', 'ne')).toEqual(['news'])
    expect(inBash('nonsense', 'x')).toEqual([])
  })

  const fish = withPrograms('fish')
  it.skipIf(fish.missing)(`is there in fish, too ${fish.missing || ''}`, async () => {
    const crawl = await home.add('http://127.0.0.1:9/')
    const script = (line: string) => `archivebox-ts completion fish | source; complete -C '${line}'`
    const env = { PATH: [bin, fish.path].join(delimiter), HOME: home.dataDir }
    const offered = (line: string) => spawnSync('fish', ['--no-config', '-c', script(line)], { env }).stdout.toString()
    expect(offered('archivebox-ts crawl sh')).toMatch(/^show\t/)
    expect(offered('archivebox-ts crawl show ')).toContain(crawl.slice(-8))
    expect(offered('archivebox-ts config set WGET_ENABLED=')).toMatch(/^WGET_ENABLED=false/)
  })

  it('asks nothing of a database that is not there', async () => {
    const env = { DATA_DIR: home.dataDir }
    const { code, stdout, stderr } = await program(['completion', 'words', 'archivebox-ts', 'crawl', 'show', ''], {
      env,
    })
    expect([code, stdout, stderr]).toEqual([0, 'words\n', ''])
    expect(existsSync(join(home.dataDir, 'postgres'))).toBe(false)
  })

  it.skipIf(noTmux)(`works at a press of Tab ${noTmux || ''}`, async () => {
    const crawl = await home.add('http://127.0.0.1:9/')
    // It keeps no history: that would be written while its folder is removed.
    const shell = `PATH='${bin}':$PATH PS1='$ ' HISTFILE= bash --norc --noprofile -i`
    const terminal = new Terminal(home, shell, { columns: 100 })
    try {
      await terminal.shows(/^\$/m)
      terminal.keys('source <(archivebox-ts completion bash)', 'Enter')
      terminal.keys('archivebox-ts cra', 'Tab')
      await terminal.shows(/archivebox-ts crawl$/m)
      terminal.keys('sh', 'Tab')
      await terminal.shows(/archivebox-ts crawl show/)
      terminal.keys(crawl.slice(-8, -4))
      await terminal.shows(new RegExp(`show ${crawl.slice(-8, -4)}`))
      terminal.keys('Tab')
      await terminal.shows(new RegExp(`archivebox-ts crawl show ${crawl.slice(-8)}`))
      terminal.keys('Enter')
      await terminal.shows(/http:\/\/127\.0\.0\.1:9\//)
    } finally {
      terminal.close()
    }
  })
})

describe('help', () => {
  it('knows verbs of verbs, and what was most likely meant', async () => {
    const { code, stdout } = await program(['help', 'crawl', 'list'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('Usage: archivebox-ts crawl list')])
    expectRefused(await program(['help', 'crwal']), 'there is no verb "crwal": did you mean crawl?')
    expectRefused(await program(['help', 'crawl', 'lsit']), 'there is no verb "crawl lsit": did you mean list?')
    expectRefused(await program(['crawl', 'lsit']), `unknown command 'lsit': did you mean list?`)
    expectRefused(await program(['add', '--max-ulrs', '3']), `unknown option '--max-ulrs': did you mean --max-urls?`)
    expectRefused(await program(['add', '--plugins', 'titel', 'http://x/']), 'did you mean title?')
  })
})
