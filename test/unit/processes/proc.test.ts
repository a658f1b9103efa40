import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

/** Opens all the files that it may, and then asks whether a process is alive that is. */
const ASKS = `
  const { openSync } = await import('node:fs')
  const { livenessOf, ownIdentity } = await import(
    ${JSON.stringify(new URL('../../../src/processes/identity.ts', import.meta.url).href)})
  const me = await ownIdentity()
  console.log(await livenessOf(me))
  try { for (;;) openSync('/dev/null') } catch {}
  console.log(await livenessOf(me).catch(({ code }) => code))
`

it.skipIf(process.platform !== 'linux')(
  'a process without descriptors does not take the living for gone: it cannot know',
  () => {
    const argv = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, ASKS]
    expect(spawnSync('/bin/sh', argv, { encoding: 'utf8' }).stdout.split('\n')).toEqual(['alive', 'EMFILE', ''])
  },
)
