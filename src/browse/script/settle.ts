import { awaitContent } from './await-content.ts'
import { expand } from './expand.ts'
import { loadFonts } from './load-fonts.ts'
import { loadLate } from './load-late.ts'
import type { Scripts } from './scripts.ts'
import { scroll } from './scroll.ts'

const settle: Scripts['settle'] = async (ms, presses, from) => {
  const until = performance.now() + ms
  await awaitContent(until)
  if (from === 0) await expand(until, presses) // Another press might fold it again.
  const shown = await scroll(until, from)
  await loadLate(until)
  await loadFonts(until)
  return shown
}
export default settle
