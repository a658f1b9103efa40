import { knownDataDirId } from '../../base/data-dir-id.ts'
import { duration, many, shellWord } from '../../base/words.ts'
import type { Database } from '../../db/database.ts'
import { type ListedNode, listNodes } from '../../db/node-list.ts'
import { differencesBetween } from '../nodes/differences.ts'
import { type Examined, type Finding, green, yellow } from './check.ts'

/** The nodes, where there are several: which are lost, and which differ from this one. */
export async function nodesCheck({ dataDir }: Examined, db: Database): Promise<readonly Finding[]> {
  const nodes = await listNodes(db, 'lost')
  if (nodes.length < 2) return []
  const id = knownDataDirId(dataDir)
  const here = nodes.find((node) => node.id === id)
  const findings = nodes.flatMap((node) => lost(node) ?? different(here, node) ?? [])
  return findings.length > 0 ? findings : [green(`${many(nodes.length, 'node')}, none is lost, and none differs`)]
}

function lost({ state, name, heartbeat_age_s: age, pages }: ListedNode): Finding | undefined {
  if (state !== 'lost') return undefined
  const what = pages ? `: ${many(pages, 'page')} with files only there` : ''
  return yellow(
    `node ${name} is lost, heard of ${duration(age)} ago${what}`,
    `archivebox-ts node show ${shellWord(name)}`,
  )
}

function different(here: ListedNode | undefined, node: ListedNode): Finding | undefined {
  const found = here ? (differencesBetween(here, node) ?? []) : []
  if (found.length === 0) return undefined
  const names = found.slice(0, 3).map(({ what, name }) => `${what} ${name}`)
  const more = found.length > names.length ? `, and ${found.length - names.length} more` : ''
  return yellow(
    `node ${node.name} differs: ${names.join(', ')}${more}`,
    `archivebox-ts node show ${shellWord(node.name)}`,
  )
}
