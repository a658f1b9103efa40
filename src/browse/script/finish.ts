import type { Scripts } from './scripts.ts'

/** Endless and paused animations stay as they are. */
const finish: Scripts['finish'] = () => {
  for (const animation of document.getAnimations()) {
    const { endTime } = animation.effect?.getComputedTiming() ?? {}
    const isMoving = animation.playState === 'running' && animation.playbackRate !== 0
    if (isMoving && Number.isFinite(endTime)) animation.finish()
  }
}
export default finish
