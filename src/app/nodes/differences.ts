import { own } from '../../base/own.ts'
import type { ListedNode } from '../../db/node-list.ts'

/** Something that two nodes have differently, as text; null: one has none. */
export interface Difference {
  readonly what: 'version' | 'plugin' | 'setting'
  readonly name: string
  readonly here: string | null
  readonly there: string | null
}

/**
 * Where a node differs from ours, as each said of itself when its runner began to lead; undefined: one of them has said
 * nothing yet.
 */
export function differencesBetween(here: ListedNode, there: ListedNode): Difference[] | undefined {
  if (here.about === null || there.about === null) return undefined
  const version: Difference = { what: 'version', name: 'archivebox-ts', here: here.version, there: there.version }
  return [
    ...(here.version === there.version ? [] : [version]),
    ...compared('plugin', here.about.plugins, there.about.plugins),
    ...compared('setting', here.about.settings, there.about.settings),
  ]
}

type Texts = Readonly<Record<string, string>>

function compared(what: 'plugin' | 'setting', here: Texts, there: Texts): Difference[] {
  const names = [...new Set([...Object.keys(here), ...Object.keys(there)])].sort()
  return names
    .map((name) => ({ what, name, here: own(here, name) ?? null, there: own(there, name) ?? null }))
    .filter((each) => each.here !== each.there)
}
