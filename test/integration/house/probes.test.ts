import { cpSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { useHomes } from '../../support/homes.ts'
import { publishedIn } from '../../support/outputs.ts'
import { ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite(1)
})
afterAll(() => site.close())

/** A secret of the machine that is nobody's business. */
const CANARY = 'canary-5f1c'

/** What becomes of each probe in test/fixtures/probes. For others see test/crash/hooks/hostile-hooks.test.ts. */
const OUTCOMES = {
  bad_config: 'succeeded: ',
  bad_shebang: 'failed: it cannot be started: its interpreter /no/such/interpreter is not there',
  binary: 'noresults: ',
  crlf: 'failed: it cannot be started: its lines end as on Windows (CRLF)',
  forged: 'succeeded: only mine',
  long_line: 'failed: killed: it printed more than 64 MiB',
  many_files: 'failed: cannot publish its files: more than 100000 output files',
  not_executable: 'succeeded: ',
  not_files: 'succeeded: ',
  odd_config: 'succeeded: ',
  outside: 'succeeded: ../../../../../../etc/passwd',
  proto: 'noresults: ',
  reads_stdin: 'succeeded: ',
  silent: 'noresults: ',
  victim: 'succeeded: ',
}

it('bad plugins on one page have their outcome each, and no other goes down with them', async () => {
  const home = await homes.make()
  cpSync(join(ROOT, 'test', 'fixtures', 'probes'), join(home.dataDir, 'plugins'), { recursive: true })
  // No formatter of ours takes such a file.
  writeFileSync(join(home.dataDir, 'plugins', 'bad_config', 'config.json'), '{ "required_plugins": [')
  home.install('env_dump')
  const plugins = [...Object.keys(OUTCOMES), 'headers', 'hashes', 'env_dump'].join()
  const crawl = await home.add('--plugins', plugins, '-c', 'TIMEOUT=600', `${site.url}/page-1.html`)
  const run = await home.run(['run', '--exit-on-idle'], { env: { AWS_SECRET_ACCESS_KEY: CANARY } })
  expect(run.code, run.stderr).toBe(0)
  const [page, ...others] = await expectComplete(home, crawl)
  expect(others).toEqual([])
  const results = await resultsOf(home, crawl)
  const ours = results.filter(({ plugin }) => ['headers', 'hashes', 'env_dump'].includes(plugin))
  expect(ours.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  expect(
    Object.fromEntries(
      results
        .filter((result) => !ours.includes(result))
        .map(({ plugin, status, output_str }) => [plugin, `${status}: ${output_str}`]),
    ),
  ).toEqual(OUTCOMES)
  expect(await home.value('select count(*) from crawl')).toBe('1')
  const published = publishedIn(join(home.dataDir, page!.output_dir)).filter(
    (path) => !/^(headers|hashes|env_dump)\//.test(path),
  )
  expect(published.sort()).toEqual([
    'bad_config/made.txt',
    'not_executable/made.txt',
    'not_files/own.txt',
    'odd_config/made.txt',
    'outside/own.txt',
    'reads_stdin/read.txt',
    'victim/victim.txt',
  ])
  expect(readFileSync(join(home.dataDir, page!.output_dir, 'victim/victim.txt'), 'utf8')).toBe('whole\n')
  for (const name of readdirSync(home.dataDir, { recursive: true, encoding: 'utf8' })) {
    const file = join(home.dataDir, name)
    if (lstatSync(file).isFile()) expect(readFileSync(file).includes(CANARY), name).toBe(false)
  }
})
