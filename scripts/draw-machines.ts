// Draws the state graphs into src/machines/GRAPHS.md, between its two marks.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine, Setting } from '../src/engine/machine.ts'
import { archiveResultMachine } from '../src/machines/archive-result.ts'
import { binaryMachine } from '../src/machines/binary.ts'
import { crawlMachine } from '../src/machines/crawl.ts'
import { scheduleMachine } from '../src/machines/schedule.ts'
import { snapshotMachine } from '../src/machines/snapshot.ts'

const file = join(import.meta.dirname, '..', 'src', 'machines', 'GRAPHS.md')
const [begin, end] = ['<!-- graphs: drawn by scripts/draw-machines.ts -->', '<!-- end of graphs -->']

type State = Machine['states'][string]

function draw(machine: Machine): string {
  const edges = Object.entries(machine.states).flatMap(([state, def]) => [
    ...Object.entries(def.on ?? {}).map(([event, target]) => `    ${state} --> ${target}: ${event}`),
    ...Object.entries(def.reopen ?? {}).map(([event, target]) => `    ${state} --> ${target}: (${event})`),
    ...(def.giveUp ? [`    ${state} --> ${def.giveUp.to}: ${def.giveUp.after} attempts in vain`] : []),
    ...(def.again ? [`    ${state} --> ${def.again.to}: ${bySetting(def.again.most)} further attempts in vain`] : []),
    ...(def.timeout ? [`    ${state} --> ${def.timeout.to}: after ${time(def.timeout.afterMs)}`] : []),
    ...(def.final ? [`    ${state} --> [*]`] : []),
    ...numbers(machine, def).map((line) => `    ${state}: ${state}, ${line}`),
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

/** Describes what else decides about a row in this state. */
function numbers({ leaseSeconds, columns }: Machine, def: State): string[] {
  const isClaimed = columns.owner !== undefined && !def.final && !def.external
  const said = [
    ...(isClaimed ? [`lease ${leaseSeconds} s`] : []),
    ...(def.startAfterMs ? [`due after ${time(def.startAfterMs)}`] : []),
    ...(def.retryAfterMs ? [`again after ${time(def.retryAfterMs)}`] : []),
    ...(def.again ? [`again after ${bySetting(def.again.afterSeconds)} s`] : []),
    ...(def.deadlineMs ? [`${time(def.deadlineMs)} without progress`] : []),
    ...(def.deleteAfterMs === undefined ? [] : [`deleted after ${time(def.deleteAfterMs)}`]),
  ]
  return said.length > 0 ? [said.join(', ')] : []
}

const bySetting = ({ setting, standard }: Setting) => `${setting} (${standard})`
const time = (ms: number) => (ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 1_000} s`)

/** The text with the present graphs of the code. */
export function withGraphs(text: string): string {
  const graphs = [crawlMachine, snapshotMachine, archiveResultMachine, binaryMachine, scheduleMachine]
    .map(draw)
    .join('\n\n')
  return `${text.slice(0, text.indexOf(begin) + begin.length)}\n\n${graphs}\n\n${text.slice(text.indexOf(end))}`
}

if (import.meta.main) writeFileSync(file, withGraphs(readFileSync(file, 'utf8')))
