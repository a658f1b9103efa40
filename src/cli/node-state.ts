import type { ListedNode } from '../db/node-list.ts'
import type { Palette } from './screen/palette.ts'

type Known = Pick<ListedNode, 'state' | 'leads' | 'pages_in_work'> & { readonly crawls_in_work: number }

/** A node that drains has nothing in work any more: its runner can be stopped. */
export const isDrained = ({ state, pages_in_work: pages, crawls_in_work: crawls }: Known): boolean =>
  state === 'draining' && pages + crawls === 0

/** The state of a node, in a word or two: without a runner it does nothing, whatever it is meant to do. */
export function nodeState(node: Known): string {
  if (node.state === 'lost') return 'lost'
  return `${isDrained(node) ? 'drained' : node.state}${node.leads ? '' : ', no runner'}`
}

/** Its colour. */
export function nodeColour({ state, leads }: Known, palette: Palette): (text: string) => string {
  if (state === 'lost') return palette.red
  return state === 'active' && leads ? String : palette.yellow
}
