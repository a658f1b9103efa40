import type { Session } from './cdp.ts'

/** A line of a page's console. */
export interface ConsoleLine {
  /** ISO 8601. */
  readonly at: string
  readonly level: string
  readonly text: string
  /** `URL:LINE`, where known. */
  readonly source?: string
}

const MAX_LINES = 5_000
const MAX_CHARS = 4_000
/** Names our script among those of a page. */
const OWN = 'archivebox-ts:console'
/**
 * Limits what each frame logs: messages pass through the browser process, which a flood fills until it ends, for all
 * pages.
 */
const LIMIT = `{
  let left = ${MAX_LINES}
  const apply = (say, self, words) => left-- > 0 ? Reflect.apply(say, self, words) : undefined
  for (const [name, say] of Object.entries(console))
    if (typeof say === 'function') console[name] = new Proxy(say, { apply })
}
//# sourceURL=${OWN}`

/** What a page logged. */
export interface ConsoleLog {
  readonly lines: ConsoleLine[]
  /** How many more lines were dropped. */
  dropped: number
}

/** Collects from now on what a page, or a frame of it, logs on its console, and the errors of its scripts. */
export function collectConsole(session: Session, log: ConsoleLog): void {
  session.send('Page.addScriptToEvaluateOnNewDocument', { source: LIMIT }).catch(() => {})
  const add = (at: number, level: string, text: string, url?: string, line?: number) => {
    if (log.lines.length >= MAX_LINES) log.dropped++
    else {
      const source = url ? `${url.slice(0, MAX_CHARS)}:${(line ?? 0) + 1}` : undefined
      const entry = { at: new Date(at).toISOString(), level, text: text.slice(0, MAX_CHARS).toWellFormed() }
      log.lines.push(source === undefined ? entry : { ...entry, source })
    }
  }
  session.on('Runtime.consoleAPICalled', ({ type, args, timestamp, stackTrace }) => {
    const frame = stackTrace?.callFrames.find(({ url }) => url !== OWN)
    const text = args.map(({ value, description }) =>
      typeof value === 'string' ? value : (description ?? String(value)),
    )
    add(timestamp, type, text.join(' '), frame?.url, frame?.lineNumber)
  })
  session.on('Runtime.exceptionThrown', ({ timestamp, exceptionDetails: { exception, text, url, lineNumber } }) =>
    add(timestamp, 'error', exception?.description ?? text, url, lineNumber),
  )
  session.on('Log.entryAdded', ({ entry: { timestamp, level, text, url, lineNumber } }) =>
    add(timestamp, level, text, url, lineNumber),
  )
}
