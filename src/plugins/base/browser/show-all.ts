import type { Protocol } from 'devtools-protocol'
import { HIDE_OVERLAYS } from './behaviours/overlays.ts'
import { type Session, unlessGone } from './cdp.ts'
import { consentSelectors } from './consent-list.ts'
import { SETTLE } from './page-scripts.ts'
import { evaluateIn, worldOf } from './worlds.ts'

export interface Showing {
  readonly hides: boolean
  readonly presses: boolean
}

/** Frames of a page that are shown all of; more are advertisements. */
const MAX_FRAMES = 20

/**
 * Has a loaded page and its frames show all that they have, in at most `ms` milliseconds each: see `behaviours/`.
 * Throws AppError when its document is gone meanwhile.
 * @param how `hides` what covers it; `presses` buttons
 * @returns selectors of the overlays that were hidden
 */
export async function showAll(session: Session, ms: number, { hides, presses }: Showing): Promise<readonly string[]> {
  const { frameTree } = await session.send('Page.getFrameTree')
  const [page, ...frames] = [...framesIn(frameTree)].slice(0, MAX_FRAMES)
  if (!page) return []
  const world = await worldOf(session, page.id)
  const hide = async () =>
    hides ? await evaluateIn<string[]>(session, world, HIDE_OVERLAYS(consentSelectors(page.url))) : []
  await hide() // A lock on scrolling must not be in the way, and some banners come late.
  const inFrame = async ({ id }: Protocol.Page.Frame) =>
    await evaluateIn(session, await worldOf(session, id), SETTLE(ms, presses))
  await Promise.all([
    evaluateIn(session, world, SETTLE(ms, presses)),
    ...frames.map((frame) => inFrame(frame).catch(unlessGone)),
  ])
  return await hide()
}

function* framesIn({ frame, childFrames }: Protocol.Page.FrameTree): Generator<Protocol.Page.Frame, void> {
  yield frame
  for (const child of childFrames ?? []) yield* framesIn(child)
}
