// The plugins that docs/plugins.md shows, as a reader would copy them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { resultsOf } from '../../support/archive.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { blocksIn, readDoc } from '../../support/docs.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { hook } from '../../support/plugins.ts'
import { type Site, startSite } from '../../support/site.ts'

const DOCS = readDoc('docs/plugins.md')
const PYTHON = withPrograms('python3')
const homes = useHomes()
let site: Site

beforeAll(async () => {
  site = await startSite({ '/a': '<title>Three &amp; more</title><p>words <b>here</b>', '/b': '' })
})
afterAll(() => site.close())

/** Puts in the hook that is shown in this language, and its config.json. */
function example(home: TestHome, name: string, language: string, extension: string): void {
  const [script] = blocksIn(DOCS, language)
  const [config] = blocksIn(DOCS, `json ${name}`)
  expect(DOCS).toContain(`\`data/plugins/${name}/on_Snapshot__60_${name}.${extension}\``)
  mkdirSync(join(home.dataDir, 'plugins', name), { recursive: true })
  writeFileSync(join(home.dataDir, 'plugins', name, 'config.json'), config!)
  hook(home, name, `60_${name}.${extension}`, script!)
}

interface Page {
  readonly outcome: string
  readonly title: string | null
  readonly output_dir: string
}

/** Archives a page with one plugin, and those that it requires. */
async function archived(home: TestHome, plugin: string, ...more: string[]): Promise<Page> {
  const env = { PATH: PYTHON.path }
  const crawl = await home.add('--plugins', plugin, ...more, `${site.url}/a`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env })
  expect(code, stderr).toBe(0)
  return JSON.parse((await home.run(['snapshot', 'list', '--crawl-id', crawl, '--json'])).stdout) as Page
}

const madeBy = (home: TestHome, page: Page, file: string) =>
  readFileSync(join(home.dataDir, page.output_dir, file), 'utf8')

it('the one in shell counts words, is no copy, and is skipped without html', async () => {
  const home = await homes.make()
  example(home, 'words', 'bash', 'sh')
  const page = await archived(home, 'words')
  expect(page.outcome).toBe('archived')
  expect(madeBy(home, page, 'words/words.txt')).toBe('5\n')
  const without = await home.add('--plugins', 'words', '-c', 'HTML_ENABLED=false', `${site.url}/b`)
  await home.run(['run', '--exit-on-idle'])
  expect(await resultsOf(home, without)).toMatchObject([{ status: 'skipped', output_str: 'needs html, which is off' }])
})

it.skipIf(PYTHON.missing)(
  `the one in Python saves text and title, as many lines as its setting says ${PYTHON.missing || ''}`,
  async () => {
    const home = await homes.make()
    example(home, 'plain', 'python', 'py')
    const page = await archived(home, 'plain')
    expect(page).toMatchObject({ outcome: 'archived', title: 'Three & more' })
    expect(madeBy(home, page, 'plain/plain.txt')).toBe('words\nhere\n')
    expect(madeBy(home, page, 'index.html')).toContain('plain/plain.txt')
    const again = await archived(home, 'plain', '--again', '-c', 'PLAIN_LINES=1')
    expect(madeBy(home, again, 'plain/plain.txt')).toBe('words\n')
    expect((await home.run(['plugin', 'show', 'plain', '--json'])).stdout).toContain('"lacks":[]')
  },
)
