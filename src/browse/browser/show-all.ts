import type { Protocol } from 'devtools-protocol'
import { type Session, unlessGone } from './cdp.ts'
import { consentSelectors } from './consent-list.ts'
import { ANSWER_MS, type Tab } from './tab.ts'
import { runIn, worldOf } from './worlds.ts'

/** What was shown of a page. */
export interface Shown {
  /** Selectors of the overlays that were hidden. */
  readonly hidden: readonly string[]
  /** Pixels from the top. */
  readonly height: number
}

export interface Showing {
  readonly hides: boolean
  readonly presses: boolean
}

/** The most frames of a page that are scrolled and expanded; further ones are advertisements. */
const MAX_FRAMES = 20
/** How much longer than its limit a frame may take. */
const LATE_MS = 500

/**
 * Makes a loaded page and its frames show all that they have, in at most `ms` milliseconds each: see
 * `../script/settle.ts`. Throws AppError when the document has been replaced meanwhile.
 * @param how `hides` overlays; `presses` buttons
 * @param from pixels from the top of the page that were shown before
 */
export async function showAll(tab: Tab, ms: number, { hides, presses }: Showing, from: number): Promise<Shown> {
  const { session } = tab
  const [page, ...others] = await framesOf(session)
  if (!page) return { hidden: [], height: 0 }
  // Frames that have their own processes.
  const inner = tab.inner.frames.map((frame) => tab.within(framesOf(frame), ANSWER_MS).catch(unlessGone))
  const frames = [...others, ...(await Promise.all(inner)).flatMap((some) => some ?? [])].slice(0, MAX_FRAMES - 1)
  const world = await worldOf(session, page.frame.id)
  const hide = async () => (hides ? await runIn(session, world, 'hide-overlays', consentSelectors(page.frame.url)) : [])
  await hide() // A lock on scrolling must not be in the way, and some banners come late.
  const settle = async ({ session, frame }: Placed) =>
    await runIn(session, await worldOf(session, frame.id), 'settle', ms, presses, 0)
  // A busy frame does not block the page.
  const inFrame = async (placed: Placed) => await tab.within(settle(placed), ms + LATE_MS)
  const [height] = await Promise.all([
    runIn(session, world, 'settle', ms, presses, from),
    // Frames only once: their buttons would be pressed again.
    ...(from === 0 ? frames : []).map((frame) => inFrame(frame).catch(unlessGone)),
  ])
  return { hidden: await hide(), height }
}

/** A frame, and the connection to it. */
interface Placed {
  readonly session: Session
  readonly frame: Protocol.Page.Frame
}

async function framesOf(session: Session): Promise<Placed[]> {
  const { frameTree } = await session.send('Page.getFrameTree')
  return Array.from(framesIn(frameTree), (frame) => ({ session, frame }))
}

function* framesIn({ frame, childFrames }: Protocol.Page.FrameTree): Generator<Protocol.Page.Frame, void> {
  yield frame
  for (const child of childFrames ?? []) yield* framesIn(child)
}
