/** Before a picture: what fades or moves in has come to its end; what moves for ever goes on. */
export const FINISH = `(() => {
  for (const animation of document.getAnimations()) {
    const { endTime } = animation.effect?.getComputedTiming() ?? {}
    if (animation.playState === 'running' && Number.isFinite(endTime)) animation.finish()
  }
})()`
