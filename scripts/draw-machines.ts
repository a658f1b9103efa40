// Draws the state graphs into src/machines/README.md, between its two marks.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from '../src/engine/machine.ts'
import { archiveResultMachine } from '../src/machines/archive-result.ts'
import { binaryMachine } from '../src/machines/binary.ts'
import { crawlMachine } from '../src/machines/crawl.ts'
import { snapshotMachine } from '../src/machines/snapshot.ts'

const file = join(import.meta.dirname, '..', 'src', 'machines', 'README.md')
const [begin, end] = ['<!-- graphs: drawn by scripts/draw-machines.ts -->', '<!-- end of graphs -->']

function draw(machine: Machine): string {
  const edges = Object.entries(machine.states).flatMap(([state, { on, final }]) => [
    ...Object.entries(on ?? {}).map(([event, target]) => `    ${state} --> ${target}: ${event}`),
    ...(final ? [`    ${state} --> [*]`] : []),
  ])
  return [
    `### ${machine.name}`,
    '',
    '```mermaid',
    'stateDiagram-v2',
    `    [*] --> ${machine.initial}`,
    ...edges,
    '```',
  ].join('\n')
}

/** The README with the graphs as the code has them. */
export function withGraphs(text: string): string {
  const graphs = [crawlMachine, snapshotMachine, archiveResultMachine, binaryMachine].map(draw).join('\n\n')
  return `${text.slice(0, text.indexOf(begin) + begin.length)}\n\n${graphs}\n\n${text.slice(text.indexOf(end))}`
}

if (import.meta.main) writeFileSync(file, withGraphs(readFileSync(file, 'utf8')))
