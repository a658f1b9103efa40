// The worker that all tabs of a browser share: a browser opens only six streams to one host.
import { Stream } from './stream.ts'
import type { ToWorker } from './stream-messages.ts'

/** A tab that was silent for this long counts as gone: it left without a message. */
const SILENT_MS = 40_000
const LOOK_MS = 10_000

const tabs = new Map<MessagePort, { readonly topics: readonly string[]; readonly heardAt: number }>()
const stream = new Stream((message) => {
  for (const port of tabs.keys()) port.postMessage(message)
})
const listen = (since?: number) =>
  stream.listen(
    [...tabs.values()].flatMap(({ topics }) => topics),
    since,
  )

addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0]
  if (!port) return
  const hear = ({ topics, since }: ToWorker) => {
    if (topics.length === 0) tabs.delete(port)
    else tabs.set(port, { topics, heardAt: performance.now() })
    listen(since)
  }
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => hear(data)
  port.addEventListener('close', () => hear({ topics: [] }))
})

setInterval(() => {
  for (const [port, { heardAt }] of tabs) if (performance.now() - heardAt > SILENT_MS) tabs.delete(port)
  listen()
}, LOOK_MS)
