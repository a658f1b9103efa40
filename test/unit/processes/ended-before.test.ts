// What a worker makes of the log of one that died.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { HOSTED_LOG } from '../../../src/base/attempt-paths.ts'
import { RowLog, readRowLog } from '../../../src/base/row-log.ts'
import { bootId, hasProc } from '../../../src/processes/proc.ts'
import { hosted, runHooks } from '../../support/page-hooks.ts'
import { made, root, tree, useWorkTree } from '../../support/work-trees.ts'

useWorkTree()

const HOOKS = ['a', 'b', 'c'].map((plugin) => hosted(plugin))
const nameOf = (plugin: string) => `${plugin}.on_Snapshot__10_${plugin}.1`
const log = () => join(root, HOSTED_LOG)

/** These hooks end, and their worker dies. */
function end(boot: string, ...plugins: string[]): void {
  const row = new RowLog(
    log(),
    HOOKS.map(({ plugin }) => nameOf(plugin)),
    boot,
  )
  for (const plugin of plugins) row.append(nameOf(plugin), [{ type: 'ArchiveResult', status: 'noresults' }])
  row.close()
}

it.skipIf(!hasProc)('hooks that have ended, also those without a file, do not run again', async () => {
  end(bootId(), 'a', 'b')
  const { ran, ends } = await runHooks(HOOKS)
  expect(ran).toEqual(['c'])
  expect(ends.map(([plugin, event]) => [plugin, event])).toEqual([
    ['a', 'empty'],
    ['b', 'empty'],
    ['c', 'empty'],
  ])
})

it.skipIf(!hasProc)('a hook that cannot run is not waited for by those that ended after it', async () => {
  end(bootId(), 'b')
  const { ran, ends } = await runHooks(HOOKS, { missing: ['a'] })
  expect(ran).toEqual(['c'])
  expect(ends).toEqual([
    ['b', 'empty', ''],
    ['a', 'skip', 'it is missing'],
    ['c', 'empty', ''],
  ])
})

it('hooks that ended before the machine booted run again, and so they do if their next worker dies, too', async () => {
  end('another boot', 'a', 'b')
  made('a', 'file', 'lost')
  const { ran } = await runHooks(HOOKS)
  expect(ran).toEqual(['a', 'b', 'c'])
  expect([...readRowLog(log()).keys()], 'their files went with the work tree').toEqual([])
})

it('the work tree says who ran only to those who look: until then a folder without files is none', async () => {
  const place = await tree.placeFor('a')
  expect(tree.hasFile('a')).toBe(false)
  expect(() => mkdirSync(place)).not.toThrow()
  await tree.placeFor('b')
  tree.makePlaces()
  expect(() => mkdirSync(join(tree.work, 'b'))).toThrow(/EEXIST/)
})
