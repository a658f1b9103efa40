import { readSetting, type Texts } from '../../base/config.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { ROBOT, userAgent } from '../../base/user-agent.ts'
import type { Answer } from '../../browse/http/answer.ts'
import { chunksOf } from '../../browse/http/body.ts'
import { fetchPage } from '../../browse/index.ts'

/** The rules in a host's robots.txt. */
export interface Robots {
  /** Why this URL must not be archived; undefined: it may be. */
  readonly refusal: (url: string) => string | undefined
  /** The time that it asks for between two requests, in milliseconds. */
  readonly delayMs: number
  /** It could not be read: what it refuses may be allowed at another time. */
  readonly isUnread?: true
}

/** How long a file counts (RFC 9309: a day at most); a failure to read it counts as long, or until a retry. */
const KNOWN_MS = 3_600_000
const UNREADABLE_MS = 60_000
const TIMEOUT_MS = 10_000
/** How much of a file is read (RFC 9309: at least 500 KiB). */
const MAX_BYTES = 512_000
/** The longest delay between two requests that is respected. */
const MAX_DELAY_MS = 60_000
const MOST_KNOWN = 1_000
/** No more than this is received, however it is encoded. */
const LIMIT = { bytes: 4 * MAX_BYTES, name: 'robots.txt' }

/** Settings of the request: a host may answer differently, or not be asked at all. */
const ASKER = [
  ...['PERSONAS_DIR', 'ACTIVE_PERSONA', 'COOKIES_FILE', 'ACCEPT_LANGUAGE'],
  ...['CHECK_SSL_VALIDITY', 'BLOCK_PRIVATE_ADDRESSES', 'ALLOW_PRIVATE_HOSTS'],
] as const

/** By origin and request settings. */
const known = new Map<string, { readonly robots: Robots; readonly until: number }>()

/** The robots.txt of the host of this URL, read as RFC 9309 requires. */
export async function robotsOf(url: string, settings: Texts, abort: AbortSignal): Promise<Robots> {
  const { origin } = new URL(url)
  const key = JSON.stringify([origin, userAgent(settings), ...ASKER.map((name) => settings[name] ?? '')])
  const before = known.get(key)
  if (before && before.until > performance.now()) return before.robots
  const { robots, ms } = await read(`${origin}/robots.txt`, settings, abort)
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(key, { robots, until: performance.now() + ms })
  return robots
}

const FREE: Robots = { refusal: () => undefined, delayMs: 0 }

async function read(file: string, settings: Texts, abort: AbortSignal): Promise<{ robots: Robots; ms: number }> {
  const late = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const context = { url: file, env: settings, signal: AbortSignal.any([abort, late]) }
    const answer = await fetchPage(context)
    const text = await startOf(answer, context.signal).finally(() => answer.body.close())
    // Without a file everything is allowed; a failing server allows nothing.
    if (answer.status >= 500) return unread(`robots.txt: HTTP ${answer.status}`, settings)
    return { robots: text === '' ? FREE : await parsed(file, text), ms: KNOWN_MS }
  } catch (error) {
    if (abort.aborted) throw error
    if (late.aborted) return unread(`robots.txt: timed out after ${TIMEOUT_MS / 1000} s`, settings)
    // A redirect that leads nowhere: there is no file.
    if (error instanceof AppError && error.cause === undefined) return { robots: FREE, ms: KNOWN_MS }
    return unread(messageOf(error), settings)
  }
}

function unread(why: string, settings: Texts): { robots: Robots; ms: number } {
  const ms = Math.min(UNREADABLE_MS, 1000 * readSetting('HOOK_RETRY_SECONDS', settings))
  return { robots: { ...FREE, refusal: () => why, isUnread: true }, ms }
}

async function startOf(answer: Answer, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  if (answer.status >= 300) return text
  for await (const chunk of chunksOf(answer, LIMIT, signal)) {
    text += decoder.decode(chunk, { stream: true })
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) break
  }
  return text
}

/** Its type declarations are for another module system. */
type Parse = (
  file: string,
  text: string,
) => { isDisallowed(url: string, robot: string): boolean | undefined; getCrawlDelay(robot: string): number | undefined }

async function parsed(file: string, text: string): Promise<Robots> {
  const { default: parse } = (await import('robots-parser')) as unknown as { readonly default: Parse }
  const rules = parse(file, text)
  return {
    refusal: (url) => (rules.isDisallowed(url, ROBOT) ? 'robots.txt forbids it' : undefined),
    delayMs: Math.min(1000 * (rules.getCrawlDelay(ROBOT) ?? 0), MAX_DELAY_MS),
  }
}
