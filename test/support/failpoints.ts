import { lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestHome } from './homes.ts'

const MARK = 'failpoint.'

/**
 * The environment in which each of these failpoints (`name=action`, several separated by `;`) fires once among all
 * processes of a home.
 */
export function failpoints({ dataDir }: TestHome, points: string): Record<string, string> {
  return { ARCHIVEBOX_FAILPOINTS: points, ARCHIVEBOX_FAILPOINTS_FIRED: dataDir }
}

/** The failpoints that have fired, in that order, each with the pid of its process. */
export function fired({ dataDir }: TestHome): Map<string, number> {
  const at = (name: string) => lstatSync(join(dataDir, name), { bigint: true }).mtimeNs
  const marks = readdirSync(dataDir).filter((name) => name.startsWith(MARK))
  marks.sort((a, b) => Number(at(a) - at(b)))
  return new Map(marks.map((name) => [name.slice(MARK.length), Number(readlinkSync(join(dataDir, name)))]))
}
