// The worker that all tabs of a browser share: six streams to one host are all that a browser opens.
import { Stream } from './stream.ts'
import type { ToWorker } from './stream-messages.ts'

const tabs = new Map<MessagePort, readonly string[]>()
const stream = new Stream((message) => {
  for (const port of tabs.keys()) port.postMessage(message)
})

addEventListener('connect', (event) => {
  const port = (event as MessageEvent).ports[0]
  if (!port) return
  const hear = ({ topics, since }: ToWorker) => {
    if (topics.length === 0) tabs.delete(port)
    else tabs.set(port, topics)
    stream.listen([...tabs.values()].flat(), since)
  }
  port.onmessage = ({ data }: MessageEvent<ToWorker>) => hear(data)
  // A tab that crashed says no goodbye.
  port.addEventListener('close', () => hear({ topics: [] }))
})
