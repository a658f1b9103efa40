import { join } from 'node:path'
import { Meanings } from '../../src/base/makes.ts'
import { findPlugins } from '../../src/hooks/discover.ts'
import { meaningOf } from '../../src/hooks/upstream/meanings.ts'
import { ROOT } from './program.ts'

/** What our own plugins make, together with these others. */
export function meaningsOf(...others: readonly string[]): Meanings {
  const own = findPlugins([join(ROOT, 'src', 'plugins')]).map(({ name, meaning }) => [name, meaning] as const)
  const known = new Set(own.map(([name]) => name))
  const more = others.filter((name) => !known.has(name) && !/^(?:parse|search)_/.test(name))
  return new Meanings([...own, ...more.map((name) => [name, meaningOf({ name, makes: undefined })] as const)])
}
