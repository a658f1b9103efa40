import { expect, it } from 'vitest'
import { hosted, runHooks } from '../../support/page-hooks.ts'
import { useWorkTree } from '../../support/work-trees.ts'

useWorkTree()

const hashes = { ...hosted('hashes'), readsPublished: true }

it('what hooks said waits for a write that is required', async () => {
  const { ran, steps } = await runHooks([hosted('headers'), hosted('html'), hashes])
  expect(ran).toEqual(['headers', 'html', 'hashes'])
  // One whenever a row goes on after a portion.
  expect(steps).toEqual(['write', 'write'])
})

it('is written before something else is published, unless the next worker would read it in the log', async () => {
  const hooks = [hosted('headers'), hosted('html', 'headers'), hashes]
  expect((await runHooks(hooks)).untold).toEqual([])
  expect((await runHooks(hooks, { missing: ['html'] })).untold, 'it finds that out by itself').toEqual([])
  expect((await runHooks(hooks, { losesHost: true })).untold, 'skipped for what has failed').toEqual(['html'])
  expect((await runHooks(hooks.slice(0, 2), { attempt: 2 })).untold).toEqual(['headers', 'html'])
})

it('is written before background hooks are ended, which may take long', async () => {
  const server = { ...hosted('server'), hosted: false, background: true }
  const { steps } = await runHooks([hosted('headers'), server, hashes])
  expect(steps, 'their own ends, too').toEqual(['write', 'end background', 'write'])
})
