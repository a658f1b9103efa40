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
  }
})

it.skipIf(noTerminal)(`so do add and status on a terminal ${noTerminal || ''}`, async () => {
  const home = await homes.make()
  const given = ['--data-dir', home.dataDir]
  expect(await onTerminal(home, ['add', REFUSED])).toContain('; archivebox-ts run works on it')
  await home.run(['run', '--exit-on-idle'], { env: { HOOK_RETRIES: '0' } })
  const program = ['archivebox-ts', ...given].join(' ')
  const shown = async (...words: string[]) => (await onTerminal(home, [...given, ...words])).replaceAll(/\s+/g, ' ')
  expect(await shown('add', '--again', REFUSED)).toContain(`; ${program} run works on it`)
  const status = await shown('status')
  expect(status).toContain(`no runner: start one with ${program} run `)
  expect(status).toContain(`${program} snapshot retry --failed`)
})
