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
  for (const node of unread) {
    const place = node.data_dir === '' ? node.name : `${node.name} (${node.data_dir})`
    const text = `${many(node.pages, 'page')} on node ${place}; ${whileThere(node, then)}`
    terminal.tell(text, 'not read: ', onStderr.yellow)
  }
}

/** What helps while a node is there, or why it does not. */
export const whileThere = ({ state }: Pick<PagesOn, 'state'>, then: string): string =>
  state === 'active' || state === 'draining' ? then : `that node is ${state}`
