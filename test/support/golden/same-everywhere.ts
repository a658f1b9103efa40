import { readFileSync, realpathSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { TestHome } from '../homes.ts'
import { NODE, ROOT } from '../program.ts'

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
const ZEROS = (found: string) => found.replaceAll(/\d/g, '0')
const VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version
const HOST = escaped(hostname())
const OF_MACHINE = ['memory', '/dev/shm', 'descriptors', 'process limit', 'temporary files', 'network', 'plugins'].join(
  '|',
)

/**
 * Everything that differs between runs and machines, with its replacements. As few as possible: a change in what is
 * hidden here goes unnoticed.
 */
const DIFFERENT: readonly (readonly [RegExp, (found: string) => string])[] = [
  // Times and dates, also in paths.
  [/\b20\d\d-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?/g, ZEROS],
  [/(?<=\/)20\d{6}(?=\/)/g, ZEROS],
  [/^ *\d\d:\d\d:\d\d /gm, ZEROS],
  [/(?<="created":)\d{13}/g, ZEROS],
  [/(?<=(ADD_DATE|LAST_MODIFIED)=")\d+/g, ZEROS],
  // Ages and durations: in a table column, which keeps its width, and in a sentence.
  [/(?<= {2})\d+ (s|min)(?= {2}(?! ))/g, (found) => (found.length < 5 ? 'N s'.padStart(found.length) : 'N s  ')],
  [/(?<= {2})\d+ (s|min)(?= {3})/g, (found) => 'N s'.padEnd(found.length)],
  [/(?<=\b(in|for|pid \d+,) )\d+(\.\d+)? (s|min)\b/g, () => 'N s'],
  [/(?<=\bafter )\d+\.\d s\b/g, () => 'N s'],
  [/(?<=_age_s":)(?:null|[\d.]+)/g, () => 'N'],
  [/(?<="heartbeat_age_s":|"rss_bytes":|"elapsed_s":)[\d.]+/g, () => 'N'],
  // Processes.
  [/(?<="pid":)\d+/g, () => 'N'],
  [/\bpid \d+/g, () => 'pid N'],
  // The machine.
  [new RegExp(`(?<="hostname":")${HOST}(?=")`, 'g'), () => 'HOST'],
  [new RegExp(`\\b${HOST}(?= \\(here\\))`, 'g'), () => 'HOST'],
  [/(?<="os_platform":")\w+/g, () => 'SYSTEM'],
  [/(?<="os_arch":")\w+/g, () => 'ARCH'],
  [new RegExp(`\\b${process.platform} ${process.arch}\\b`, 'g'), () => 'SYSTEM ARCH'],
  [/(?<="free_bytes":)\d+/g, () => 'N'],
  [/\d+(\.\d+)? [kMGT]B free/g, () => 'N GB free'],
  [/(?<="key":"MAX_CRAWL_WORKERS".*"default":)\d+/g, () => 'CORES'],
  [/^.*"key":"HOOK_USER".*\n/gm, () => ''],
  // A runner's messages about the machine, some time after its start.
  [new RegExp(`^.*( runner +|"message":"|runner proc--\\d\\d: )(${OF_MACHINE}): .*\\n`, 'gm'), () => ''],
  // A backup is compressed, and has a row for each process.
  [/(?<="type":"Backup".*"size":)\d+(,"sha256":")\w+/g, () => 'N,"sha256":"N'],
  // Counts are summed when a runner has time for it.
  [/(?<="type":"Backup".*"(process|row_change|\w+_total)":)\d+/g, () => 'N'],
  // A page that is done at once notes no start of a hook.
  [/(?<="type":"Backup".*"transition":)\d+/g, () => 'N'],
  [/(?<="handled":.*"archive_result":\{[^}]*"started":)\d+/g, () => 'N'],
  [/\(\d+ rows\)( in \S+ \([\d.]+ kB\))?/g, () => '(N rows)'],
  // The database server.
  [/(?<="server_version":")[\d.]+/g, () => 'N'],
  [/(?<=^ *server_version +)[\d.]+/gm, () => 'N'],
  [/(?<="size_bytes":|^ *size_bytes +)\d+/gm, () => 'N'],
  [/PostgreSQL [\d.]+, [\d.]+ MB/g, () => 'PostgreSQL N, N MB'],
]

/** Makes a text the same in every run and on every machine. */
export function sameEverywhere(text: string, { dataDir, databaseUrl }: TestHome, desk: string): string {
  const database = new URL(databaseUrl).pathname.slice(1)
  const node = realpathSync(NODE)
  const same = text
    .replaceAll(dataDir, '/data')
    .replaceAll(desk, '/desk')
    .replaceAll(/\/[^\s"']*\/abx-test-\w{6}(?=\/)/g, '/original') // The original of the copy.
    .replaceAll(node, '/node')
    .replaceAll(NODE, '/node')
    .replaceAll(ROOT.replace(/\/$/, ''), '/program')
    .replaceAll(new RegExp(`postgres(ql)?://[^\\s"']*${database}`, 'g'), 'postgres://DATABASE')
    .replaceAll(database, 'DATABASE')
    .replaceAll(/(?<=127\.0\.0\.1[:_])\d{4,5}\b/g, '33333')
    .replaceAll(/(?<=127\.0\.0\.1:)\d+(?=…)/g, (found) => '3'.repeat(found.length))
    .replaceAll(new RegExp(`\\b${escaped(VERSION)}\\b`, 'g'), 'VERSION')
  return DIFFERENT.reduce((so, [pattern, stand]) => so.replaceAll(pattern, stand), same)
}
