#!/usr/bin/env node
// Pictures of the page: the whole of it, what one sees first of a long one, and a small one.
import { extname } from 'node:path'
import { capture } from '../base/browser/with-tab.ts'
import { writeWhole } from '../base/files.ts'
import { defineHook, succeeded } from '../base/hook.ts'

/** A picture cannot be taller in Chromium's compositor: a longer page goes on in another one. */
const MAX_HEIGHT = 16_384
/** The longest pages of reference works are whole; one that grows for ever ends here. */
const MAX_PICTURES = 12
/** Nobody looks at one that is wider. */
const MAX_WIDTH = 4_096
const THUMBNAIL_WIDTH = 400
const THUMBNAIL_HEIGHT = 300
const QUALITY = 80
const FORMATS: Readonly<Record<string, 'png' | 'jpeg' | 'webp'>> = { '.png': 'png', '.jpg': 'jpeg', '.webp': 'webp' }

export default defineHook(import.meta, {
  plugin: 'screenshot',
  run: (context) =>
    capture(context, async ({ tab }) => {
      const { cssContentSize: page, cssLayoutViewport: view } = await tab.send('Page.getLayoutMetrics')
      const width = Math.min(Math.max(page.width, view.clientWidth), MAX_WIDTH)
      const height = Math.min(Math.max(page.height, view.clientHeight), MAX_HEIGHT * MAX_PICTURES)
      const save = async (name: string, clip: { y?: number; width: number; height: number; scale: number }) => {
        const format = FORMATS[extname(name)]!
        const { data } = await tab.send('Page.captureScreenshot', {
          format,
          ...(format !== 'png' && { quality: QUALITY }),
          captureBeyondViewport: true,
          clip: { x: 0, y: 0, ...clip },
        })
        writeWhole(context.outputDir, name, Buffer.from(data, 'base64'))
      }
      const first = { width: view.clientWidth, height: Math.min(view.clientHeight, height) }
      const scale = THUMBNAIL_WIDTH / first.width
      for (let y = 0, number = 1; y < height; y += MAX_HEIGHT, number++) {
        const clip = { y, width, height: Math.min(MAX_HEIGHT, height - y), scale: 1 }
        await save(number === 1 ? 'screenshot.png' : `screenshot-${number}.png`, clip)
      }
      if (height > first.height) await save('viewport.jpg', { ...first, scale: 1 })
      await save('thumbnail.webp', { ...first, height: Math.min(first.height, THUMBNAIL_HEIGHT / scale), scale })
      if (page.height <= height && page.width <= width) return succeeded('screenshot/screenshot.png')
      context.log(`The pictures show ${width} x ${height} of ${page.width} x ${page.height} pixels.`)
      return succeeded('screenshot/screenshot.png', {
        pixels: [width, height],
        page_pixels: [page.width, page.height],
      })
    }),
})
