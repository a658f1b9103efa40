import { awaitContent } from './await-content.ts'
import { expand } from './expand.ts'
import { loadFonts } from './load-fonts.ts'
import { loadLate } from './load-late.ts'
import type { Scripts } from './scripts.ts'
import { scroll } from './scroll.ts'

const settle: Scripts['settle'] = async (ms, presses) => {
  const until = performance.now() + ms
  await awaitContent(until)
  await expand(until, presses)
  await scroll(until)
  await loadLate(until)
  await loadFonts(until)
}
export default settle
