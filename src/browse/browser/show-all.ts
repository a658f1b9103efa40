import type { Protocol } from 'devtools-protocol'
import { type Session, unlessGone } from './cdp.ts'
import { consentSelectors } from './consent-list.ts'
import { ANSWER_MS, type Tab } from './tab.ts'
import { runIn, worldOf } from './worlds.ts'

export interface Showing {
  readonly hides: boolean
  readonly presses: boolean
}

/** Frames of a page that are shown all of; more are advertisements. */
const MAX_FRAMES = 20
/** How much longer a frame may take than it was told. */
const LATE_MS = 500

/**
 * Has a loaded page and its frames show all that they have, in at most `ms` milliseconds each: see
 * `../script/settle.ts`. Throws AppError when its document is gone meanwhile.
 * @param how `hides` what covers it; `presses` buttons
 * @returns selectors of the overlays that were hidden
 */
export async function showAll(tab: Tab, ms: number, { hides, presses }: Showing): Promise<readonly string[]> {
  const { session } = tab
  const [page, ...others] = await framesOf(session)
  if (!page) return []
  // Those that have processes of their own.
  const inner = tab.inner.frames.map((frame) => tab.within(framesOf(frame), ANSWER_MS).catch(unlessGone))
  const frames = [...others, ...(await Promise.all(inner)).flatMap((some) => some ?? [])].slice(0, MAX_FRAMES - 1)
  const world = await worldOf(session, page.frame.id)
  const hide = async () => (hides ? await runIn(session, world, 'hide-overlays', consentSelectors(page.frame.url)) : [])
  await hide() // A lock on scrolling must not be in the way, and some banners come late.
  const settle = async ({ session, frame }: Placed) =>
    await runIn(session, await worldOf(session, frame.id), 'settle', ms, presses)
  // One that is busy with itself does not keep the page waiting.
  const inFrame = async (placed: Placed) => await tab.within(settle(placed), ms + LATE_MS)
  await Promise.all([
    runIn(session, world, 'settle', ms, presses),
    ...frames.map((frame) => inFrame(frame).catch(unlessGone)),
  ])
  return await hide()
}

/** A frame, and who speaks to it. */
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
