/** Marks every element that shows another document, with its number in `framesOfPage` (`../script/world.ts`). */
export const FRAME_MARK = 'data-frame-of-page'
