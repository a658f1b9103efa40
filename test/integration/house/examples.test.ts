import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { commandTree } from '../../../src/cli/program.ts'
import { SHOWN_COMMANDS } from '../../support/docs.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { COOKIES_TXT } from '../../support/login-site.ts'
import { NODE, PROGRAM } from '../../support/program.ts'
import { Registry } from '../../support/registry.ts'
import { type Site, startSite } from '../../support/site.ts'

// Every example of every help, as a reader would type it, on one data dir. Where it names example.com or a row, it gets
// what is there.
const AN_ID = '9c41d2e7'
/** Answers other than 0, and why. */
const OTHER_CODES: Readonly<Record<string, number>> = {
  'archivebox-ts status': 3, // No runner lives.
  'archivebox-ts status --json': 3,
  'archivebox-ts status --prometheus': 3,
  'archivebox-ts plugin install': 1, // Programs need the system's packages.
  'archivebox-ts db upgrade': 2, // For the embedded server only, which this data dir does not have.
  'PGPASSWORD=secret archivebox-ts db move postgres://archive@db.example.org/archive': 2, // The same.
  'archivebox-ts server link': 1, // No server runs.
  'archivebox-ts node forget beta': 2, // Without --yes.
  'archivebox-ts service install': 2, // The service would not know the DATABASE_URL of the environment.
  'archivebox-ts service show --user': 2,
  'archivebox-ts export --format wacz --tag news > news.wacz': 1, // No page has a WARC.
}

/** In its own test with an npm that stands in for the real one. */
const ASKS_THE_REGISTRY = ['archivebox-ts plugin install replay']

interface Example {
  readonly verb: string
  readonly command: string
}

function examplesOf(command: Command, path: string): Example[] {
  const below = command.commands.flatMap((each) => examplesOf(each, `${path} ${each.name()}`.trim()))
  let help = ''
  command.configureOutput({ writeOut: (more) => (help += more) }).outputHelp()
  const lines = help.split('\nExamples:\n')[1]?.split('\n') ?? []
  return path === ''
    ? below
    : [...lines.filter(Boolean).map((line) => ({ verb: path, command: line.trim() })), ...below]
}

const leaves = (command: Command, path: string): string[] =>
  command.commands.length === 0
    ? [path]
    : command.commands.flatMap((each) => leaves(each, `${path} ${each.name()}`.trim()))

const examples = examplesOf(commandTree(), '')

const homes = useHomes()
let home: TestHome
let site: Site
beforeAll(async () => {
  site = await startSite(2)
  home = await homes.original()
  mkdirSync(join(home.dataDir, 'bin'))
  mkdirSync(join(home.dataDir, 'desk'))
  mkdirSync(join(home.dataDir, '.config', 'fish', 'completions'), { recursive: true })
  const program = join(home.dataDir, 'bin', 'archivebox-ts')
  writeFileSync(program, `#!/bin/sh\nexec '${NODE}' '${PROGRAM}' "$@"\n`)
  chmodSync(program, 0o755)
  writeFileSync(join(home.dataDir, 'desk', 'urls.txt'), `${site.url}/page-1.html\n`)
  writeFileSync(join(home.dataDir, 'desk', 'cookies.txt'), COOKIES_TXT)
  await home.query(`insert into node (id, data_dir, name, state, heartbeat_at)
    select gen_random_uuid(), '/srv/' || name, name, 'lost', now() - interval '1 day'
    from unnest('{alpha,beta,gamma}'::text[]) name`)
  await home.query(`insert into tag (name) select unnest('{to-read,newspaper,press,papers,old}'::text[])`)
  writeFileSync(join(home.dataDir, 'desk', 'bookmarks.html'), `<a href="${site.url}/page-2.html">2</a>\n`)
})
afterAll(() => site.close())

it('every verb shows how it is used', () => {
  const shown = new Set(examples.map(({ verb }) => verb))
  expect(leaves(commandTree(), '').filter((verb) => !shown.has(verb))).toEqual([])
})

/** What the docs show is run there, on a database of its own; what is not our program may not be here. */
const others = examples.filter(
  ({ command }) =>
    command.includes('archivebox-ts') &&
    !SHOWN_COMMANDS.includes(`npx ${command}`) &&
    !ASKS_THE_REGISTRY.includes(command),
)

it.each(others)('$command', async ({ verb, command }) => {
  const id = command.includes(AN_ID) ? await aRowFor(verb, command) : AN_ID
  const line = command.replaceAll(AN_ID, id).replaceAll(/https:\/\/example\.com\b/g, `${site.url}/page-2.html`)
  // One that ends by itself at last, and not only by Ctrl-C.
  const bounded =
    command === 'archivebox-ts run'
      ? `${line} --exit-on-idle`
      : verb === 'server'
        ? `timeout --preserve-status -s INT 5 ${line.replace(/ --listen \S+|$/, ' --listen 127.0.0.1:0')}`
        : line
  const { code, output } = await shell(bounded)
  expect(code, output).toBe(OTHER_CODES[command] ?? 0)
  expect(output).not.toMatch(/^\s+at /m)
})

/** The id of a row that the example can be about. */
async function aRowFor(verb: string, command: string): Promise<string> {
  const [noun = '', what] = verb.split(' ')
  if (verb === 'process kill') {
    const registry = await Registry.open(home)
    onTestFinished(() => registry.close())
    // It ends at once: a runner on a busy machine takes longer than the command waits for.
    return (await registry.start('sleep 1000')).row.id
  }
  if (noun === 'result') await home.run(['add', '--run', '--plugins', 'headers', `${site.url}/page-1.html`])
  if (noun === 'schedule') {
    const { stdout } = await home.run(['schedule', 'add', '--every', 'day', `${site.url}/page-1.html`])
    const { id } = JSON.parse(stdout) as { id: string }
    if (what === 'resume') await home.run(['schedule', 'pause', id])
    return id
  }
  const table = { process: 'process', result: 'archive_result', machine: 'machine' }[noun]
  if (table) return await home.value(`select id from ${table} order by id desc limit 1`)
  const { stdout } = await home.run(['snapshot', 'create', `${site.url}/page-${home.started.length + 2}.html`])
  const page = JSON.parse(stdout) as { id: string; crawl_id: string }
  if (what === 'resume') await home.run([noun, 'pause', noun === 'crawl' ? page.crawl_id : page.id])
  return noun === 'crawl' || command.includes('--crawl-id') ? page.crawl_id : page.id
}

async function shell(command: string): Promise<{ code: number | null; output: string }> {
  const env = {
    PATH: [join(home.dataDir, 'bin'), process.env['PATH']].join(delimiter),
    HOME: home.dataDir,
    TMPDIR: home.dataDir, // plugin run --keep keeps what it made there.
    DATA_DIR: home.dataDir,
    DATABASE_URL: home.databaseUrl,
    NO_COLOR: '1',
  }
  const child = spawn('bash', ['--norc', '-c', `set -o pipefail; ${command}`], { cwd: join(home.dataDir, 'desk'), env })
  child.stdin.end()
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await ended, output: stdout + stderr }
}
