import { expect, it } from 'vitest'
import { useHomes } from '../../support/homes.ts'
import { noTerminal, onTerminal } from '../../support/on-terminal.ts'

const homes = useHomes()
const REFUSED = 'http://127.0.0.1:1/'

it('what is printed to be typed next names the data dir that was given, not that of the environment', async () => {
  const home = await homes.make()
  const env = { HOOK_RETRIES: '0' }
  for (const given of [[], ['--data-dir', home.dataDir]]) {
    const program = ['archivebox-ts', ...given].join(' ')
    const again = new RegExp(`^try again: ${program} crawl retry --failed \\w{8}, then ${program} run$`, 'm')
    await home.add(REFUSED)
    expect((await home.run([...given, 'run', '--exit-on-idle'], { env })).stderr).toMatch(again)
    expect((await home.run([...given, 'add', '--run', '--again', REFUSED], { env })).stderr).toMatch(again)
    const retried = await home.run([...given, 'crawl', 'retry', '--failed', '-'], {
      env,
      input: (await home.run(['crawl', 'list'])).stdout,
    })
    expect(retried.stderr).toContain(`; ${program} run works on them`)
    await home.run(['run', '--exit-on-idle'], { env })
    await home.add('http://127.0.0.1:1/later')
    const { stdout: status } = await home.run([...given, 'status'])
    expect(status).toContain(`no runner: start one with ${program} run\n`)
    expect(status).toContain(`${program} snapshot retry --failed`)
    await home.run(['crawl', 'cancel', '-'], { input: (await home.run(['crawl', 'list'])).stdout })
  }
})

it.skipIf(noTerminal)(`so does add on a terminal ${noTerminal || ''}`, async () => {
  const home = await homes.make()
  const given = ['--data-dir', home.dataDir]
  expect(await onTerminal(home, ['add', REFUSED])).toContain('; archivebox-ts run works on it')
  const shown = (await onTerminal(home, [...given, 'add', '--again', REFUSED])).replaceAll(/\s+/g, ' ')
  expect(shown).toContain(`; archivebox-ts ${given.join(' ')} run works on it`)
})
