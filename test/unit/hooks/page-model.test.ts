import { describe, expect, it } from 'vitest'
import type { Hook } from '../../../src/hooks/discover.ts'
import { explore } from '../../model/explore.ts'
import { type Deed, type Page, pageModel } from '../../model/page.ts'
import { claimed, hosted } from '../../support/page-hooks.ts'

const FILES: readonly Deed[] = [{ event: 'succeed', files: true }]
const NONE: readonly Deed[] = [{ event: 'empty' }]
const refused: readonly Deed[] = [{ event: 'fail', output: 'connection refused by 127.0.0.1:9' }]

const at = (hook: Hook, order: string): Hook => ({ ...hook, name: `on_Snapshot__${order}_${hook.plugin}` })
/** A hook of a user. */
const foreign = (plugin: string, ...requires: string[]): Hook => ({ ...hosted(plugin, ...requires), hosted: false })
const background = (plugin: string): Hook => ({ ...foreign(plugin), background: true })
const hashes = { ...at(hosted('hashes'), '93'), readsPublished: true }

function page(hooks: readonly Hook[], deeds: Page['deeds'], mostRetries = 0): Page {
  const inOrder = hooks.map((hook, index) => (hook === hashes ? hook : at(hook, String(10 + index))))
  return { claimed: { ...claimed(inOrder), mostRetries }, deeds: { hashes: FILES, ...deeds } }
}

const PAGES: Readonly<Record<string, Page>> = {
  'our own hooks': page([hosted('headers'), hosted('html'), hosted('title', 'html'), hashes], {
    ...{ headers: FILES, html: FILES, title: NONE },
  }),
  'our own hooks, none of which reaches the page': page([hosted('headers'), hosted('html'), hosted('title', 'html')], {
    ...{ headers: refused, html: refused, title: [{ event: 'skip', output: 'needs html, which failed' }] },
  }),
  'hooks of users between ours': page([hosted('headers'), foreign('own'), hosted('html'), foreign('late'), hashes], {
    ...{ headers: FILES, own: FILES, html: NONE, late: [{ event: 'fail', output: 'it broke' }] },
  }),
  'hooks of users that need each other': page([foreign('dom'), foreign('text', 'dom'), hosted('title', 'text')], {
    ...{ dom: refused, text: FILES, title: FILES },
  }),
  'a background hook, and what acts on it': page(
    [hosted('headers'), background('tab'), foreign('scroll', 'tab'), foreign('shot', 'tab'), hashes],
    { headers: FILES, tab: FILES, scroll: [{ event: 'succeed' }], shot: FILES },
  ),
  'a background hook that fails': page([background('tab'), foreign('shot', 'tab'), hashes], {
    ...{ tab: [{ event: 'fail', output: 'it broke' }], shot: FILES },
  }),
  'hooks that fail for now': page(
    [hosted('headers'), foreign('own'), hosted('title', 'own'), hashes],
    { headers: FILES, own: [{ event: 'delay', output: 'later' }, ...FILES], title: FILES },
    1,
  ),
  'hooks that fail for now too often': page(
    [foreign('own'), hosted('title', 'own')],
    { own: [{ event: 'delay', output: 'later' }], title: FILES },
    1,
  ),
  'hooks that work on the file that a page is': page(
    [hosted('headers'), hosted('staticfile'), { ...hosted('pdftext'), needsFile: true }, hashes],
    { headers: FILES, staticfile: FILES, pdftext: NONE },
  ),
}

describe('a page ends the same, and no hook that has ended runs again, wherever its workers die or are drained', () => {
  it.each(Object.entries(PAGES))('with %s', (_name, one) => {
    const { states, trouble, way } = explore(pageModel(one, { crashes: 2, drains: 1 }))
    expect(trouble, way.join('\n')).toBeUndefined()
    expect(states).toBeGreaterThan(100)
  })
})
