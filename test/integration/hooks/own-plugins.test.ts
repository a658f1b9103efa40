import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectComplete, resultsOf } from '../../support/archive.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { useHomes } from '../../support/homes.ts'
import { hook, requiring } from '../../support/plugins.ts'
import { ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
const PYTHON = withPrograms('python3')
let site: Site

beforeAll(async () => {
  site = await startSite({ '/a': '<title>Three</title><p>words <b>here</b>', '/b': '' })
})
afterAll(() => site.close())

/** The example in one language, as the README has it. */
function example(language: string): string {
  const [block] = readFileSync(join(ROOT, 'README.md'), 'utf8').matchAll(
    new RegExp(`\`\`\`${language}\n(#!.*?)\`\`\``, 'gs'),
  )
  return block![1]!
}

/** Archives a page with these examples, and once more without html, which they require. */
async function expectToCount(languages: Readonly<Record<string, string>>): Promise<void> {
  const home = await homes.make()
  const plugins = Object.keys(languages).map((language) => `words_${language}`)
  for (const [language, extension] of Object.entries(languages)) {
    hook(home, `words_${language}`, `60_words.${extension}`, example(language))
    requiring(home, `words_${language}`, 'html')
  }
  const crawl = await home.add('--plugins', plugins.join(), `${site.url}/a`)
  const without = await home.add('--plugins', plugins.join(), '-c', 'HTML_ENABLED=false', `${site.url}/b`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { PATH: PYTHON.path } })
  expect(code, stderr).toBe(0)
  const [page] = await expectComplete(home, crawl)
  const results = (await resultsOf(home, crawl)).filter(({ plugin }) => plugins.includes(plugin))
  for (const plugin of plugins) {
    const [result] = results.filter((one) => one.plugin === plugin)
    expect(result, plugin).toMatchObject({ status: 'succeeded', output_str: 'words/words.txt' })
    expect(readFileSync(join(home.dataDir, page!.output_dir, plugin, 'words.txt'), 'utf8')).toBe('3\n')
  }
  const skipped = plugins.map(() => ({ status: 'skipped', output_str: 'needs html, which is off' }))
  expect(await resultsOf(home, without)).toMatchObject(skipped)
}

it('the plugins that the README shows count words, and are skipped without html', async () => {
  await expectToCount({ bash: 'sh', js: 'js' })
})

it.skipIf(PYTHON.missing)(`so does the one in Python ${PYTHON.missing || ''}`, async () => {
  await expectToCount({ python: 'py' })
})
