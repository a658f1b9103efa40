#!/usr/bin/env node
// Pictures of the page: all of it, the first screen of a long one, and a small one.
import { extname } from 'node:path'
import type { Protocol } from 'devtools-protocol'
import { timeoutSeconds } from '../../base/env-settings.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { runIn, worldOf } from '../../browse/browser/worlds.ts'
import { defineHook, succeeded } from '../base/hook.ts'
import { captureShown } from '../base/with-tab.ts'

/** Chromium's limit for the height of a picture: a longer page is continued in another one. */
const MAX_HEIGHT = 16_384
/** Enough for the longest pages of reference works; one that grows for ever ends here. */
const MAX_PICTURES = 12
/** Nobody looks at a wider one. */
const MAX_WIDTH = 4_096
const THUMBNAIL_WIDTH = 400
const THUMBNAIL_HEIGHT = 300
const QUALITY = 80
/** The part of the time limit in which another picture of a long page may be begun. */
const SHARE = 0.6
const FORMATS: ReadonlyMap<string, 'png' | 'jpeg' | 'webp'> = new Map(
  Object.entries({ '.png': 'png', '.jpg': 'jpeg', '.webp': 'webp' }),
)

type Clip = Protocol.Page.Viewport
type Size = Pick<Clip, 'width' | 'height'>

export default defineHook(import.meta, {
  plugin: 'screenshot',
  run: (context) =>
    captureShown(context, async ({ tab }) => {
      const until = performance.now() + timeoutSeconds(context.env, 'SCREENSHOT') * 1000 * SHARE
      const { frameTree } = await tab.send('Page.getFrameTree')
      const world = await worldOf(tab, frameTree.frame.id)
      for (const script of ['unroll', 'finish'] as const) await runIn(tab, world, script)
      const { cssContentSize: page, cssLayoutViewport: view } = await tab.send('Page.getLayoutMetrics')
      const width = Math.min(Math.max(page.width, view.clientWidth), MAX_WIDTH)
      const height = Math.min(Math.max(page.height, view.clientHeight), MAX_HEIGHT * MAX_PICTURES)
      const x = page.x < 0 ? view.clientWidth - width : 0 // Right-to-left text grows to the left.
      const save = async (name: string, clip: Partial<Clip> & Size) => {
        const format = FORMATS.get(extname(name))!
        const { data } = await tab.send('Page.captureScreenshot', {
          format,
          ...(format !== 'png' && { quality: QUALITY }),
          captureBeyondViewport: true,
          clip: { x: 0, y: 0, scale: 1, ...clip },
        })
        writeWhole(context.outputDir, name, Buffer.from(data, 'base64'))
      }
      let shown = 0
      for (let number = 1; shown < height && (number === 1 || performance.now() < until); number++) {
        // The source of the previous picture takes 100 MB, until it is collected.
        if (number > 1) await tab.send('HeapProfiler.collectGarbage')
        const clip = { x, y: shown, width, height: Math.min(MAX_HEIGHT, height - shown) }
        await save(number === 1 ? 'screenshot.png' : `screenshot-${number}.png`, clip)
        shown += clip.height
      }
      const first = { width: view.clientWidth, height: Math.min(view.clientHeight, height) }
      const scale = THUMBNAIL_WIDTH / first.width
      if (height > first.height) await save('viewport.jpg', first)
      await save('thumbnail.webp', { ...first, height: Math.min(first.height, THUMBNAIL_HEIGHT / scale), scale })
      if (page.height <= shown && page.width <= width) return succeeded('screenshot/screenshot.png')
      context.log(`The pictures show ${width} x ${shown} of ${page.width} x ${page.height} pixels.`)
      return succeeded('screenshot/screenshot.png', {
        pixels: [width, shown],
        page_pixels: [page.width, page.height],
      })
    }),
})
