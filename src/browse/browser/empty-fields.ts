import type { Protocol } from 'devtools-protocol'
import { type Session, unlessGone } from './cdp.ts'
import { noteClosedRoots } from './closed-roots.ts'
import type { Tab } from './tab.ts'
import { runIn, worldOf } from './worlds.ts'

/** Fields for passwords, also while they are shown as text, and hidden fields, which hold the tokens of forms. */
const SECRET = ['type=password', 'type=hidden', 'autocomplete*=password', 'autocomplete=one-time-code']
  .map((attribute) => `input[${attribute} i]`)
  .join()

/** How long a frame with its own process may take to answer. */
const FRAME_MS = 5_000

/**
 * Empties the fields of a visited page that must not be in a copy when a logged-in persona has seen it. The page
 * otherwise stays as it is. Throws AppError when the page does not answer.
 */
export async function emptySecretFields(tab: Tab): Promise<void> {
  await emptyIn(tab, await framesOf(tab))
  // A frame that is gone, or does not answer, cannot be emptied.
  for (const session of tab.inner.frames)
    await tab
      .within(
        framesOf(session).then((frames) => emptyIn(session, frames)),
        FRAME_MS,
      )
      .catch(() => {})
}

/** The documents of one session, the outermost first. */
async function framesOf(session: Pick<Session, 'send'>): Promise<Protocol.Page.Frame[]> {
  const { frameTree } = await session.send('Page.getFrameTree')
  const all = [frameTree]
  for (const { childFrames = [] } of all) all.push(...childFrames)
  return all.map(({ frame }) => frame)
}

async function emptyIn(session: Pick<Session, 'send'>, frames: readonly Protocol.Page.Frame[]): Promise<void> {
  for (const [at, frame] of frames.entries()) {
    const empty = async () => {
      const world = await worldOf(session, frame.id)
      await noteClosedRoots(session, frame, world)
      await runIn(session, world, 'empty-fields', SECRET)
    }
    // A frame may be gone, but not the page itself.
    await (at === 0 ? empty() : empty().catch(unlessGone))
  }
}
