// What a verb prints with `--json` is what `app` answers, as it is: both are asked, and compared.
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Archive, Configured } from '../../../src/app/archive.ts'
import { backup } from '../../../src/app/backup/backup.ts'
import { databaseStatus } from '../../../src/app/database/database-status.ts'
import { checkRecord } from '../../../src/app/doctor/check.ts'
import { doctor } from '../../../src/app/doctor/doctor.ts'
import { exportPages } from '../../../src/app/export.ts'
import { findPersona } from '../../../src/app/personas/find.ts'
import { personaRecord } from '../../../src/app/personas/record.ts'
import { pluginRecord, QUICKLY } from '../../../src/app/plugins/plugin-record.ts'
import { changeSchedules } from '../../../src/app/schedules/change-schedules.ts'
import { settingRecords } from '../../../src/app/settings/setting-record.ts'
import { status } from '../../../src/app/status/facts.ts'
import { findProblems, problemRecord } from '../../../src/app/verify/find-problems.ts'
import { Problems } from '../../../src/base/problems.ts'
import { scheduleRecord } from '../../../src/db/records.ts'
import { crawlSettings } from '../../../src/hooks/crawl-settings.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { opened } from '../../support/opened.ts'
import { pageUrls, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
let original: TestHome
beforeAll(async () => {
  site = await startSite(3)
  original = await homes.original()
  original.install('exit_1')
  const [first = '', second = ''] = pageUrls(site, 2)
  for (const args of [
    ['add', '--tag', 'news', '--plugins', 'html,title', first, second, 'http://127.0.0.1:1/'],
    ['run', '--exit-on-idle'],
    ['schedule', 'add', '--every', 'day', first],
    ['persona', 'new', 'Reader', 'ACCEPT_LANGUAGE=de-DE'],
  ]) {
    const { code, stderr } = await original.run(args)
    expect(code, stderr).toBe(0)
  }
})
afterAll(() => site.close())

type Ask = (archive: Archive, configured: Configured, home: TestHome) => Promise<readonly object[]>

const ASKED: Readonly<Record<string, Ask>> = {
  'status --json': async (archive) => [await status(archive)],
  'doctor --json': async (_archive, configured) =>
    (await doctor({ ...configured, problems: new Problems() }, { fix: false })).map(checkRecord),
  'verify --json': async ({ home }, _configured, test) => {
    const folder = await test.value<string>(`select output_dir from snapshot where outcome = 'archived' limit 1`)
    rmSync(join(test.dataDir, folder, 'html'), { recursive: true })
    return (await Array.fromAsync(findProblems(home, {}))).map(problemRecord)
  },
  'export --format jsonl': async (archive) =>
    recordsIn((await Array.fromAsync(exportPages(archive, { format: 'jsonl' }))).join('')),
  'config list --json': async (_archive, configured) => settingRecords(configured),
  'plugin show --json exit_1': async (_archive, { dataDir, settings }) => {
    const { plugins, texts } = crawlSettings(dataDir, settings)
    return [await pluginRecord(plugins.find(({ name }) => name === 'exit_1')!, plugins, texts, QUICKLY)]
  },
  'persona show --json Reader': async (_archive, { dataDir }) => [
    personaRecord(await findPersona(join(dataDir, 'personas'), 'Reader'), 'Default'),
  ],
  'db status --json': async (_archive, configured) => [await databaseStatus(configured, {})],
  'backup --json FILE': async (archive, _configured, { dataDir }) => {
    const { signal } = new AbortController()
    const input = { file: join(dataDir, 'rows.zst'), processId: randomUUID() }
    return [(await backup(archive, input, { signal })).record]
  },
  'schedule pause --json ID': async (archive, _configured, home) => {
    const id = await home.value<string>('select id from schedule')
    const { changed } = await changeSchedules(archive, 'pause', [id])
    await changeSchedules(archive, 'resume', [id])
    return changed.map(scheduleRecord)
  },
}

/** The program has the folder of the system for its temporary files, the tests have one of their own. */
const temporary = (text: string) => (text === tmpdir() ? '/tmp' : text)
/** These tests run from the sources, which have no version. */
const BUILT = /^archivebox-ts \S+$/
/** Differs between two moments, or two processes. */
const VOLATILE =
  /^(?:size(?:_bytes)?|free_bytes|oldest_due_(?:crawl_)?age_s|handled|process|sha256|version|status_changed_at)$/

it.each(Object.entries(ASKED))('%s', async (command, ask) => {
  const home = await homes.clone(original)
  try {
    const answered = await opened(home, async (archive, configured) => await ask(archive, configured, home))
    const ids: Readonly<Record<string, string>> = {
      FILE: join(home.dataDir, 'rows.zst'),
      ID: await home.value<string>('select id from schedule'),
    }
    const { stdout, stderr } = await home.run(command.split(' ').map((word) => ids[word] ?? word))
    expect(answered.length, stderr).toBeGreaterThan(0)
    expect(recordsIn(stdout).map(steady)).toEqual(
      recordsIn(answered.map((each) => JSON.stringify(each)).join('\n')).map(steady),
    )
  } finally {
    await homes.discard(home)
  }
})

const recordsIn = (lines: string): object[] =>
  lines
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as object)

function steady(record: object): object {
  const shown = (name: string, value: unknown) => {
    if (VOLATILE.test(name)) return undefined
    return typeof value === 'string'
      ? temporary(value)
          .replace(/\d+(\.\d+)? (MB|GB|files|s)\b/g, 'N $2')
          .replace(BUILT, '')
      : value
  }
  return JSON.parse(JSON.stringify(record, shown)) as object
}
