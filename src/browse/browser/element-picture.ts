import type { Session } from './cdp.ts'

/**
 * Takes a PNG of an element whose content the page's scripts may not read; undefined when it is gone.
 * @param contextId the world whose list `picturedOfPage` has it, under this number
 */
export async function pictureOfElement(
  tab: Pick<Session, 'send'>,
  contextId: number,
  number: number,
): Promise<Buffer | undefined> {
  const { result } = await tab.send('Runtime.evaluate', { contextId, expression: `picturedOfPage[${number}]` })
  if (result.objectId === undefined) return undefined
  const { model } = await tab.send('DOM.getBoxModel', { objectId: result.objectId })
  const { cssVisualViewport: view } = await tab.send('Page.getLayoutMetrics')
  const [xs, ys] = [0, 1].map((axis) => model.content.filter((_, i) => i % 2 === axis)) as [number[], number[]]
  const [x, y, right, bottom] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)]
  const { data } = await tab.send('Page.captureScreenshot', {
    format: 'png',
    // A picture beyond the viewport resizes the window, and a page may load other images for that.
    captureBeyondViewport: x < 0 || y < 0 || right > view.clientWidth || bottom > view.clientHeight,
    clip: { x: x + view.pageX, y: y + view.pageY, width: right - x, height: bottom - y, scale: 1 },
  })
  return Buffer.from(data, 'base64')
}
