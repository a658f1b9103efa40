import type { Session } from './cdp.ts'

/**
 * What one sees of an element that shows what its page may not read, as PNG; undefined when it is gone.
 * @param contextId the world in whose list `picturedOfPage` it is, and its number there
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
    // For a picture of what is elsewhere the window changes, and a page may load other pictures for it.
    captureBeyondViewport: x < 0 || y < 0 || right > view.clientWidth || bottom > view.clientHeight,
    clip: { x: x + view.pageX, y: y + view.pageY, width: right - x, height: bottom - y, scale: 1 },
  })
  return Buffer.from(data, 'base64')
}
