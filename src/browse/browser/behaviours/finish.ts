/** Before a picture: what fades or moves in has come to its end; what moves for ever, or is held, stays as it is. */
export const FINISH = `(() => {
  for (const animation of document.getAnimations()) {
    const { endTime } = animation.effect?.getComputedTiming() ?? {}
    const isMoving = animation.playState === 'running' && animation.playbackRate !== 0
    if (isMoving && Number.isFinite(endTime)) animation.finish()
  }
})()`
