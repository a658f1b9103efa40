// What every older program left is opened by this one, and goes on: nothing of it is lost, no capture is changed.
import { globSync, readFileSync, rmSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { machineGuid } from '../../../src/base/machine-file.ts'
import { migrations } from '../../../src/db/migrate.ts'
import { useDatabases } from '../../support/engine.ts'
import { TestHome } from '../../support/homes.ts'
import { KEPT, keptDataDir } from '../../support/kept-data-dirs.ts'
import { killAll, processesOf } from '../../support/processes.ts'
import { ROOT } from '../../support/program.ts'
import { brokenPromises } from '../../support/promises.ts'
import { sampled } from '../../support/seed.ts'
import { type Site, startSite } from '../../support/site.ts'

const NEWEST = migrations().at(-1)!.version
const databases = useDatabases()
let site: Site
let home: TestHome

beforeAll(async () => {
  site = await startSite({ '/next': '<title>Next</title>It was queued by an older program.' })
})
afterAll(() => site.close())

async function open(name: string): Promise<void> {
  const here = { machine: machineGuid(), host: hostname(), site: new URL(site.url).host }
  const { dataDir, database } = await keptDataDir(name, databases.make, here)
  home = new TestHome(dataDir, database.url, {})
  onTestFinished(async () => {
    await home.close()
    const left = processesOf(dataDir)
    killAll(left)
    rmSync(dataDir, { recursive: true, force: true })
    expect(left).toEqual([])
  })
}

/** The captures, byte for byte. */
function captures(): ReadonlyMap<string, string> {
  const files = globSync('archive/snapshots/**/{title.txt,output.html,hashes.json}', { cwd: home.dataDir }).sort()
  return new Map(files.map((file) => [file, readFileSync(join(home.dataDir, file), 'latin1')]))
}

const lines = async (...args: string[]) => {
  const { code, stdout, stderr } = await home.run(args)
  expect(code, stderr).toBe(0)
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Record<string, unknown>]))
}

describe('a kept data dir', () => {
  it('is there of every schema version before the newest (node scripts/keep-data-dir.ts), and small', () => {
    // Where two migrations came with one program, no data dir has only the first.
    const together = [2, 3, 28, 38]
    const versions = migrations().flatMap(({ version }) => (together.includes(version) ? [] : [version]))
    expect(KEPT.map(Number).filter((version) => version < NEWEST)).toEqual(versions.filter((each) => each < NEWEST))
    for (const name of KEPT) {
      const fixture = join(ROOT, 'test', 'fixtures', 'data-dirs', name)
      expect(statSync(join(fixture, 'rows.sql')).size).toBeLessThan(50_000)
      expect(globSync('**/*.{txt,html,json}', { cwd: fixture })).toHaveLength(3)
    }
  })

  const before = KEPT.filter((name) => Number(name) < NEWEST)
  const chosen = [...new Set([KEPT[0]!, ...sampled(before, 3, 'kept data dirs')])]
  it.each(chosen)('of schema version %s is read, verified and finished', async (name) => {
    await open(name)
    const kept = captures()
    expect(kept.size).toBe(3)
    const { code, stdout, stderr } = await home.run(['status', '--json'])
    expect(code, stderr).toBe(3)
    expect(stderr).toContain('database schema: applied')
    expect(JSON.parse(stdout)).toMatchObject({ queue: { crawl: { queued: 1, sealed: 1 } } })
    expect(await home.value('select max(version) from schema_migration')).toBe(NEWEST)
    expect(await home.value('select count(*)::int from schema_migration')).toBe(migrations().length)
    expect(await lines('crawl', 'list')).toMatchObject([
      { label: 'queued', status: 'queued' },
      { label: 'archived', status: 'sealed', tags: ['kept'] },
    ])
    const [page] = await lines('snapshot', 'list')
    expect(page).toMatchObject({ url: `${site.url}/`, title: 'A page', status: 'sealed' })
    expect(await lines('result', 'list', '--status', 'succeeded')).toHaveLength(3)
    // The pages that show captures are not kept: they are made anew.
    const isMissing = { problem: 'no page', snapshot_id: page!['id'] }
    expect(await lines('verify', '--mend')).toMatchObject([isMissing, isMissing])

    const run = await home.run(['run', '--exit-on-idle'])
    expect(run.code, run.stderr).toBe(0)
    expect(await lines('snapshot', 'list')).toMatchObject([
      { url: `${site.url}/next`, title: 'Next', outcome: 'archived' },
      { id: page!['id'], outcome: 'archived' },
    ])
    expect(new Map([...captures()].filter(([file]) => kept.has(file)))).toEqual(kept)
    expect(await lines('verify')).toEqual([])
    const shown = readFileSync(join(home.dataDir, String(page!['output_dir']), 'index.html'), 'utf8')
    expect(shown).toContain('html/output.html')
    expect(await brokenPromises(home)).toEqual([])
  })
})
