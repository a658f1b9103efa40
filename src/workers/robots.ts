import type { Texts } from '../base/config.ts'
import { ROBOT, userAgent } from '../base/user-agent.ts'

/** What a host's robots.txt says. */
export interface Robots {
  /** Why this URL is not to be archived; undefined: it may be. */
  readonly refusal: (url: string) => string | undefined
  /** How long it wants to be left alone between two requests, in milliseconds. */
  readonly delayMs: number
}

/** What was read holds so long (RFC 9309: a day at most); that nothing could be read, so long. */
const KNOWN_MS = 3_600_000
const UNREADABLE_MS = 60_000
const TIMEOUT_MS = 10_000
/** More of a file is not read (RFC 9309: at least 500 KiB are to be). */
const MAX_BYTES = 512_000
/** No host is waited for longer than a minute. */
const MAX_DELAY_MS = 60_000
const MOST_KNOWN = 1_000

const known = new Map<string, { readonly robots: Robots; readonly until: number }>()

/** The robots.txt of the host of this URL, as RFC 9309 wants it read. */
export async function robotsOf(url: string, settings: Texts, abort: AbortSignal): Promise<Robots> {
  const { origin } = new URL(url)
  const before = known.get(origin)
  if (before && before.until > performance.now()) return before.robots
  const { robots, ms } = await read(`${origin}/robots.txt`, settings, abort)
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(origin, { robots, until: performance.now() + ms })
  return robots
}

const FREE: Robots = { refusal: () => undefined, delayMs: 0 }

async function read(file: string, settings: Texts, abort: AbortSignal): Promise<{ robots: Robots; ms: number }> {
  try {
    const signal = AbortSignal.any([abort, AbortSignal.timeout(TIMEOUT_MS)])
    const answer = await fetch(file, { headers: { 'user-agent': userAgent(settings) }, signal })
    // Without a file all is allowed; a server in trouble allows nothing.
    if (answer.status >= 500)
      return { robots: { ...FREE, refusal: () => `robots.txt: HTTP ${answer.status}` }, ms: UNREADABLE_MS }
    const text = answer.ok ? await startOf(answer) : ''
    await answer.body?.cancel().catch(() => {})
    return { robots: text === '' ? FREE : await parsed(file, text), ms: KNOWN_MS }
  } catch (error) {
    if (abort.aborted) throw error
    return { robots: FREE, ms: UNREADABLE_MS } // The page will tell why its host cannot be reached.
  }
}

async function startOf(answer: Response): Promise<string> {
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    bytes += chunk.byteLength
    if (bytes > MAX_BYTES) break
  }
  return text
}

/** Its declarations are those of another module system. */
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
