// The script of the page that replays a WARC or WACZ, on the host of one capture.

/** The worker handles addresses below its own; ReplayWeb.page uses the same name. */
const WORKER = '/replay/sw.js?serveIndex=1'
const SCOPE = '/replay/'

start().catch((error: unknown) => say(`It cannot be replayed: ${String(error)}`))

async function start(): Promise<void> {
  // Private windows of some browsers have none.
  if (!('serviceWorker' in navigator)) return say('This browser has no service workers here, which replay needs.')
  if (!(await isHeldBack()))
    return say(
      'This browser does not keep a page that is replayed from reaching others: it knows no Connection-Allowlist. ' +
        'Chromium, Chrome and Edge do.',
    )
  const registration = await navigator.serviceWorker.register(WORKER, { scope: SCOPE })
  await active(registration)
  const { source = '', url = '' } = document.body.dataset
  const shown = document.createElement('replay-web-page')
  for (const [name, value] of Object.entries({ source, url, replaybase: SCOPE, noCache: '' }))
    shown.setAttribute(name, value)
  document.querySelector('main')!.replaceChildren(shown)
}

/** Whether the browser enforces where a page may connect to. A page that may not connect tries its own host. */
async function isHeldBack(): Promise<boolean> {
  const frame = document.createElement('iframe')
  frame.hidden = true
  frame.src = '/probe'
  await new Promise((resolve) => {
    frame.addEventListener('load', resolve)
    document.body.append(frame)
  })
  const asked = frame.contentWindow!.fetch('/probe', { cache: 'no-store' })
  const isHeld = await asked.then(
    () => false,
    () => true,
  )
  frame.remove()
  return isHeld
}

/** Waits until the worker answers: a page that is opened before would ask the server. */
async function active({ installing, waiting, active }: ServiceWorkerRegistration): Promise<void> {
  const worker = active ?? waiting ?? installing
  if (!worker) throw new Error('there is no worker')
  await new Promise<void>((resolve, reject) => {
    const look = () => {
      if (worker.state === 'activated') resolve()
      if (worker.state === 'redundant') reject(new Error('its worker does not start'))
    }
    worker.addEventListener('statechange', look)
    look()
  })
}

function say(words: string): void {
  const said = document.querySelector('#said')
  if (said) said.textContent = words
}
