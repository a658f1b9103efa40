import { many } from '../base/words.ts'
import type { PagesOn } from '../db/nodes.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/** The pages of another node that a command could not read, as a record. */
export function unreadRecord({ id, name, data_dir, state, pages }: PagesOn) {
  return { type: 'Unread', node_id: id, node: name, data_dir, state, pages } as const
}

/**
 * Says, a line for each other node, how many pages are on its disk.
 * @param then what helps while the node is there
 */
export function sayUnread(unread: readonly PagesOn[], then: string): void {
  for (const { name, data_dir: dataDir, state, pages } of unread) {
    const place = dataDir === '' ? name : `${name} (${dataDir})`
    const how = state === 'active' || state === 'draining' ? then : `that node is ${state}`
    terminal.say(`${onStderr.yellow('not read:')} ${many(pages, 'page')} on node ${place}; ${how}`)
  }
}
