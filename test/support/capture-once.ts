// A program: takes a picture of a page that needs much memory, by a browser of its own, and says how long it is.
import { pictureOf, RealTabs } from './real-tabs.ts'

const tabs = await RealTabs.start()
try {
  const tab = await tabs.visit(process.argv[2]!, { CHROME_RESOLUTION: '2000,9000' })
  process.stdout.write(`${(await pictureOf(tab)).length}\n`)
} finally {
  await tabs.close()
}
