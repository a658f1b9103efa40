import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { asset } from '../../base/package-root.ts'
import { numberedLines } from '../lines.ts'
import type { SourceResult, SourceSnapshot } from './snapshot.ts'

type ReadableChild = ChildProcessByStdio<null, Readable, Readable>

/** How long it may be silent: it copies and sorts the index first. */
const SILENT_MS = 120_000
/** The most CPU time: so a reader whose program was killed ends, too, whatever keeps SQLite busy. */
const MOST_SECONDS = 3_600

/**
 * The snapshots in a collection's `index.sqlite3`, read by a separate process, which is killed when it is silent for
 * `silentMs`. Throws an Error then, and for a database that is no index.
 * @param leave is told what cannot be read, and why
 */
export async function* readIndex(
  file: string,
  leave: (what: string) => void,
  silentMs = SILENT_MS,
): AsyncGenerator<SourceSnapshot> {
  const reader = [process.execPath, asset('index-process.js', 'importers/archivebox/index-process.ts'), file]
  const child = spawn('/bin/sh', ['-c', `ulimit -t ${MOST_SECONDS} && exec "$@"`, 'sh', ...reader], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  try {
    for await (const lines of numberedLines(outputOf(child, silentMs)))
      for (const { text } of lines) {
        if (text === '') continue
        const read = JSON.parse(text) as WrittenSnapshot | { readonly tooLarge: string }
        if ('tooLarge' in read) leave(`snapshot ${read.tooLarge}: it has more than 10 MB of records`)
        else yield snapshotOf(read)
      }
  } finally {
    child.kill('SIGKILL')
  }
}

/** The output of a process. Throws an Error when it is silent for this long while somebody waits, or fails. */
async function* outputOf(child: ReadableChild, silentMs: number): AsyncGenerator<string> {
  const ended = once(child, 'close') as Promise<[number | null]>
  ended.catch(() => {}) // It may not even start: that is thrown below.
  let words = ''
  child.stderr.setEncoding('utf8').on('data', (piece: string) => {
    words = (words + piece).slice(-1_000)
  })
  const chunks = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string, undefined>
  for (;;) {
    const timer = setTimeout(() => child.kill('SIGKILL'), silentMs)
    const chunk = await chunks.next()
    clearTimeout(timer)
    if (chunk.done) break
    yield chunk.value
  }
  const [code] = await ended
  if (code === null) throw new Error(`it took its reader more than ${silentMs / 1_000} s, or more than all memory`)
  if (code !== 0) throw new Error(words.trim().split('\n').at(-1) || `its reader ended with ${code}`)
}

type Written<T> = { readonly [K in keyof T]: T[K] extends Date | undefined ? string | undefined : T[K] }
type WrittenSnapshot = Omit<Written<SourceSnapshot>, 'results'> & { readonly results: Written<SourceResult>[] }

function snapshotOf(snapshot: WrittenSnapshot): SourceSnapshot {
  const date = (text: string | undefined) => (text === undefined ? undefined : new Date(text))
  return {
    ...snapshot,
    bookmarkedAt: new Date(snapshot.bookmarkedAt!),
    savedAt: date(snapshot.savedAt),
    results: snapshot.results.map((result) => ({ ...result, start: date(result.start), end: date(result.end) })),
  }
}
