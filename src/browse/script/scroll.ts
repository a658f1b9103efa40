import { pause } from './pause.ts'

const SCREENS = 50
const BOXES = 20
const STEPS = 20
const HIDDEN_MS = 500
const GROWTH_MS = 400

/**
 * Shows all of a page once, screen by screen, since much loads only when it becomes visible; at most fifty screens,
 * because some pages never end. Then scrolls the boxes in it that are large or have pictures, at most twenty steps
 * each. Finally scrolls everything back to its beginning.
 * @param from pixels from the top that were shown before
 * @returns how many have been shown by now; of a page that has more screens, as many as it could have
 */
export async function scroll(until: number, from: number): Promise<number> {
  const root = document.scrollingElement
  let screen = Math.floor(from / innerHeight) || 1
  for (; root && screen < SCREENS && performance.now() < until; screen++) {
    if (screen * innerHeight >= root.scrollHeight && !(await grows(root, until))) break
    scrollTo({ top: screen * innerHeight, behavior: 'instant' })
    await seen()
  }
  const shown = !root || screen >= SCREENS ? Number.MAX_SAFE_INTEGER : Math.min(root.scrollHeight, screen * innerHeight)
  const boxes = [...document.querySelectorAll('div, ul, ol, section, main, article')].filter(scrolls)
  for (const box of boxes.slice(0, BOXES)) {
    const { scrollLeft: left, scrollTop: top } = box
    box.scrollIntoView({ block: 'center', behavior: 'instant' })
    for (const side of ['scrollLeft', 'scrollTop'] as const) {
      for (let step = 0; step < STEPS && performance.now() < until; step++) {
        const before = box[side]
        const by = side === 'scrollLeft' ? { left: box.clientWidth } : { top: box.clientHeight }
        box.scrollBy({ ...by, behavior: 'instant' })
        if (box[side] === before) break
        await seen()
      }
    }
    box.scrollTo({ left, top, behavior: 'instant' })
  }
  scrollTo({ top: 0, left: 0, behavior: 'instant' })
  return shown
}

// Observers of visibility are called between two frames, however long a busy machine takes for one.
const frame = () => new Promise(requestAnimationFrame)
const seen = () => Promise.race([frame().then(frame).then(frame), pause(HIDDEN_MS)])

/** The end of a feed requests more only when it is reached. Meanwhile the network becomes quiet, which takes longer. */
async function grows(root: Element, until: number): Promise<boolean> {
  const height = root.scrollHeight
  const last = Math.min(until, performance.now() + GROWTH_MS)
  while (root.scrollHeight <= height && performance.now() < last) await pause(50)
  return root.scrollHeight > height
}

const scrolls = (box: Element) =>
  (box.scrollWidth > box.clientWidth + 20 || box.scrollHeight > box.clientHeight + 20) &&
  box.clientWidth > 50 &&
  box.clientHeight > 30 &&
  box !== document.scrollingElement &&
  box !== document.body &&
  /auto|scroll/.test(getComputedStyle(box).overflow) &&
  (box.clientHeight > innerHeight / 2 || box.querySelector('img, iframe, video, [data-src], [data-bg]'))
