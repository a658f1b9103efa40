import { expect, it } from 'vitest'
import { hosted, runHooks } from '../../support/page-hooks.ts'
import { useWorkTree } from '../../support/work-trees.ts'

useWorkTree()

it('what a lost host leaves is not run when it requires what has failed there', async () => {
  const { ran, ends } = await runHooks(
    [hosted('chrome'), hosted('dom', 'chrome'), hosted('pdf', 'chrome'), hosted('wget')],
    { losesHost: true },
  )
  expect(ends).toEqual([
    ['chrome', 'fail', 'timed out after 2 s'],
    ['dom', 'skip', 'needs chrome, which failed'],
    ['pdf', 'skip', 'needs chrome, which failed'],
    ['wget', 'empty', ''],
  ])
  expect(ran).toEqual(['chrome', 'wget'])
})
