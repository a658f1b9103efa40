import { expect, it } from 'vitest'
import { isSparedByBrowser, sparedPrograms } from '../../../src/app/browser-here.ts'
import { findPlugins, pluginTrees } from '../../../src/hooks/discover.ts'
import { NODE } from '../../support/program.ts'

const all = findPlugins(pluginTrees('/no/data', {}))

/** Does nobody miss the first program of a plugin? */
function isSpared(name: string, settings: Readonly<Record<string, string>>): boolean {
  const plugin = all.find((each) => each.name === name)!
  return isSparedByBrowser(plugin.binaries[0]!, plugin, all, { CHROME_BINARY: NODE, ...settings })
}

it('nobody misses wget where a browser saves the pages, unless it is asked for', () => {
  expect(isSpared('wget', {})).toBe(true)
  expect(isSpared('wget', { CHROME_BINARY: '/no/such/browser' })).toBe(false)
  expect(isSpared('wget', { CHROME_ENABLED: 'false' })).toBe(false)
  expect(isSpared('wget', { WGET_ENABLED: 'true' })).toBe(false)
  expect(isSpared('wget', { SAVE_WGET: 'true' })).toBe(false)
  expect(isSpared('git', {})).toBe(false)
})

it('a program that another plugin needs is missed all the same', () => {
  const wget = all.find(({ name }) => name === 'wget')!
  const { neededBy: _, ...always } = wget.binaries[0]!
  const other = { ...wget, name: 'other', declares: [], binaries: [always] }
  expect(sparedPrograms(all, { CHROME_BINARY: NODE })).toEqual(new Set(['wget']))
  expect(sparedPrograms([...all, other], { CHROME_BINARY: NODE })).toEqual(new Set())
})
