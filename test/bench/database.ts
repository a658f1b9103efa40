import type { Figure } from './figures.ts'
import { emptyDataDir, removeDataDir } from './home.ts'
import { archivebox, nodeStartMs } from './program.ts'

/**
 * The embedded server, as `archivebox-ts db start` brings it up, without the start of a bare Node; the command's own
 * start, the connection and the migrations are in it.
 */
export async function database(rounds: number): Promise<Figure[]> {
  const values = {
    node: [] as number[],
    first: [] as number[],
    adopt: [] as number[],
    later: [] as number[],
    stop: [] as number[],
  }
  for (let round = 0; round < rounds; round += 1) {
    const dataDir = emptyDataDir()
    try {
      const node = await nodeStartMs()
      const beyondNode = async (verb: 'start' | 'stop') => (await archivebox(dataDir, 'db', verb)).ms - node
      values.node.push(node)
      values.first.push(await beyondNode('start'))
      values.adopt.push(await beyondNode('start'))
      values.stop.push(await beyondNode('stop'))
      values.later.push(await beyondNode('start'))
    } finally {
      await removeDataDir(dataDir)
    }
  }
  const figure = (what: string, name: keyof typeof values, atMost?: number): Figure => ({
    bench: 'database',
    what,
    unit: 'ms',
    values: values[name],
    rival: { name: 'node -e 0', values: values.node },
    ...(atMost === undefined ? {} : { target: { atMost, of: 'value' } }),
  })
  return [
    figure('db start, first (initdb, schema)', 'first', 3000),
    figure('db start, later', 'later', 300),
    figure('db start, adopting', 'adopt'),
    figure('db stop', 'stop'),
  ]
}
