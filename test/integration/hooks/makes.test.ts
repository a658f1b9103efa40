// A capture is one folder, in any language: how its page goes, its title, its text, its picture and its place follow
// from what it says of itself, also when it is gone.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findPlugins } from '../../../src/hooks/discover.ts'
import { saidBy } from '../../../src/hooks/upstream/meanings.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'
import { filesIn, recordsIn } from '../../support/warc-files.ts'

const homes = useHomes()
let site: Site
beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

/** A picture that is one. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

function plugin(home: TestHome, name: string, file: string, text: string, makes: unknown): string {
  const folder = join(home.dataDir, 'plugins', name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ makes }))
  writeFileSync(join(folder, file), text, { mode: 0o755 })
  return folder
}

const essay = (home: TestHome) =>
  plugin(
    home,
    'essay',
    'on_Snapshot__50_essay.sh',
    `#!/bin/sh
printf 'Named by an essay\\n' >name.txt
printf 'The words of an essay, at length.\\n' >words.txt
printf '{"status": 203}' >answer.json
echo '{"type": "ArchiveResult", "status": "succeeded", "output_str": "essay/words.txt"}'
`,
    { group: 'text', title: 'name.txt', text: 'words.txt', httpStatus: 'answer.json' },
  )

interface Shown {
  readonly outcome: string
  readonly title: string | null
  readonly http_status: number | null
  readonly output_dir: string
}
const snapshot = async (home: TestHome): Promise<Shown> =>
  JSON.parse((await home.run(['snapshot', 'list', '--json'])).stdout.trim().split('\n')[0]!) as Shown
const index = (home: TestHome) => readFileSync(join(home.dataDir, 'archive', 'index', '0.js'), 'utf8')

it('in shell: its file is the title, its words are found, and its copy is a text', async () => {
  const home = await homes.make()
  const folder = essay(home)
  await home.run(['add', '--run', '--plugins', 'essay', site.url])
  const shown = await snapshot(home)
  expect(shown).toMatchObject({ outcome: 'archived', title: 'Named by an essay', http_status: 203 })
  expect(index(home)).toContain('The words of an essay, at length.')
  const page = readFileSync(join(home.dataDir, shown.output_dir, 'index.html'), 'utf8')
  expect(page).toMatch(/essay[\s\S]*words\.txt/)
  // What it was is kept when it is gone.
  rmSync(folder, { recursive: true })
  await home.query("update snapshot set outcome = null, cause = null, title = null where status = 'sealed'")
  await home.run(['add', '--run', '--plugins', 'headers', `${site.url}/page-1.html`])
  expect(await home.value('select outcome from snapshot where outcome is not null order by id limit 1')).toBe(
    'archived',
  )
})

const PYTHON = withPrograms('python3')
it.skipIf(PYTHON.missing)(
  `in Python: what describes a page is no copy; its picture is shown ${PYTHON.missing || ''}`,
  async () => {
    const home = await homes.make()
    plugin(
      home,
      'chart',
      'on_Snapshot__50_chart.py',
      `#!/usr/bin/env python3
import base64, json
open("chart.png", "wb").write(base64.b64decode("${PNG}"))
print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": "chart/chart.png"}))
`,
      { isCopy: false, picture: true, group: 'data' },
    )
    const failing = plugin(home, 'copies', 'on_Snapshot__60_copies.sh', '#!/bin/sh\nexit 1\n', {})
    await home.run(['add', '--run', '--plugins', 'chart,copies', site.url], { env: { PATH: PYTHON.path } })
    expect(await snapshot(home)).toMatchObject({ outcome: 'failed' })
    expect(index(home)).toContain('chart/chart.png')
    rmSync(failing, { recursive: true })
  },
)

const HASHER = withPrograms('sha256sum', 'cut')
it.skipIf(HASHER.missing)(
  `its hashes are compared, and made again with what is retried ${HASHER.missing}`,
  async () => {
    const home = await homes.make()
    essay(home)
    const folder = plugin(
      home,
      'sums',
      'on_Snapshot__95_sums.sh',
      `#!/bin/sh
out="$PWD/sums.json"
cd "\${ARCHIVEBOX_PUBLISHED_DIR:-..}"
hash=$(sha256sum essay/words.txt | cut -d ' ' -f 1)
printf '{"files": [{"path": "essay/words.txt", "size": 34, "sha256": "%s"}]}' "$hash" >"$out"
echo '{"type": "ArchiveResult", "status": "succeeded", "output_str": "one file"}'
`,
      {},
    )
    const ready = join(home.dataDir, 'ready')
    plugin(home, 'later', 'on_Snapshot__50_later.sh', `#!/bin/sh\ntest -e ${ready} && echo it >it.txt\n`, {
      isCopy: false,
    })
    const makes = { isCopy: false, hashes: 'sums.json' }
    writeFileSync(join(folder, 'config.json'), JSON.stringify({ makes, reads_published: true }))
    const { stderr } = await home.run(['add', '--run', '--plugins', 'essay,later,sums', site.url], {
      env: { PATH: HASHER.path },
    })
    const { output_dir, outcome } = await snapshot(home)
    expect(outcome, stderr).toBe('partial')
    expect(await home.run(['verify'])).toMatchObject({ code: 0 })
    writeFileSync(join(home.dataDir, output_dir, 'essay', 'words.txt'), 'The words of an essay, at LENGTH.\n')
    const verified = await home.run(['verify'])
    expect(verified.code).toBe(1)
    expect(verified.stdout).toContain('its SHA-256 is')
    writeFileSync(ready, '')
    const id = await home.value<string>("select id from archive_result where plugin = 'later'")
    expect(await home.run(['result', 'retry', id])).toMatchObject({ code: 0 })
    await home.run(['run', '--exit-on-idle'], { env: { PATH: HASHER.path } })
    expect(await home.value("select max(attempt) from archive_result where plugin = 'sums'")).toBe(2)
  },
)

it('its title, its words and its picture lie in the WARC and in the WACZ', async () => {
  const home = await homes.make()
  essay(home)
  plugin(
    home,
    'chart',
    'on_Snapshot__51_chart.sh',
    `#!/bin/sh
printf 'a picture' >chart.png
echo '{"type": "ArchiveResult", "status": "succeeded", "output_str": "chart/chart.png"}'
`,
    { picture: true, mainFile: 'chart.png' },
  )
  await home.run(['add', '--run', '--plugins', 'essay,chart,html,warc,wacz', site.url], {
    env: { WARC_ENABLED: 'True', WACZ_ENABLED: 'True' },
  })
  const { output_dir } = await snapshot(home)
  const files = filesIn(join(home.dataDir, output_dir, 'wacz', 'page.wacz'))
  const [, page] = files.get('pages/pages.jsonl')!.bytes.toString().split('\n')
  const words = 'The words of an essay, at length.\n'
  expect(JSON.parse(page!)).toMatchObject({ title: 'Named by an essay', text: words })
  const records = await recordsIn(files.get('archive/data.warc.gz')!.bytes)
  const made = records.filter(({ type }) => type === 'resource').map(({ url, body }) => [url, body.toString()])
  expect(made).toEqual([
    [`urn:fullPage:${site.url}/`, 'a picture'],
    [`urn:text:${site.url}/`, words],
  ])
})

it('a new database knows what our own plugins make, and those of ArchiveBox', async () => {
  const home = await homes.make()
  const rows = await home.query<{ plugin: string; makes: object }>('select plugin, makes from plugin_meaning')
  const own = findPlugins([join(ROOT, 'src', 'plugins')])
  // What only hooks read is not in it until the first page.
  for (const { plugin, makes } of rows)
    expect(saidBy(own.find(({ name }) => name === plugin) ?? { name: plugin, makes: undefined })).toMatchObject(makes)
  expect(rows.map(({ plugin }) => plugin)).toEqual(
    expect.arrayContaining(own.filter((one) => saidBy(one)).map(({ name }) => name)),
  )
})

it('what is wrong in what it says is named, and it runs all the same', async () => {
  const home = await homes.make()
  essay(home)
  const config = join(home.dataDir, 'plugins', 'essay', 'config.json')
  for (const [makes, why] of [
    [[], 'makes is a table'],
    [{ group: 'poems' }, 'makes.group must be one of page, picture, text, media, data'],
    [{ isCopy: 'no' }, 'makes.isCopy must be true or false'],
    [{ title: '../../secret' }, 'makes.title must be the name of a file in its folder'],
    [{ titel: 'x' }, 'makes has no field titel'],
  ] as const) {
    writeFileSync(config, JSON.stringify({ makes }))
    const { stdout } = await home.run(['plugin', 'show', 'essay', '--json'])
    expect((JSON.parse(stdout) as { lacks: string[] }).lacks.join()).toContain(why)
  }
  await home.run(['add', '--run', '--plugins', 'essay', site.url])
  expect(await snapshot(home)).toMatchObject({ outcome: 'archived', title: null })
})
