import type { Found } from '../../../app/doctor/check.ts'
import { doctor } from '../../../app/doctor/doctor.ts'
import { foreign, html } from '../../../pages/html.ts'
import { time } from '../../../pages/layout.ts'
import type { App } from '../../visit.ts'
import type { Web } from '../../web.ts'
import { board } from '../frame.ts'
import { OnceInAWhile } from './once-in-a-while.ts'
import { table } from './table.ts'

/** How a check stands, in a word and a colour. */
const WORDS = {
  green: { word: 'fine', kind: 'archived' },
  yellow: { word: 'careful', kind: 'partial' },
  red: { word: 'broken', kind: 'failed' },
} as const

/** What `doctor` says, with what mends it. */
export function routeHealthBoard(app: App, { settingsNow }: Web): void {
  const checks = new OnceInAWhile(async () => await doctor(await settingsNow(), { fix: false }))
  app.get('/health', async (c) => {
    const { value, at } = await checks.get()
    const count = (status: Found['status']) => value.filter((each) => each.status === status).length
    const [red, yellow] = [count('red'), count('yellow')]
    const kind = red > 0 ? 'failed' : yellow > 0 ? 'partial' : 'open'
    const text =
      red > 0
        ? 'Pages cannot be archived like this.'
        : yellow > 0
          ? `Pages can be archived; ${yellow} of ${value.length} checks want a look.`
          : 'Nothing is wrong.'
    const body = html`<h1>Health</h1>
<p class="cause ${kind}">${text}</p>
<p class="dim">What <code>archivebox-ts doctor</code> says, as of ${time(at)}.</p>
${table({
  ...{ caption: 'Checks', none: 'There are no checks.', rows: [...value].sort(byUrgency).map(row) },
  heads: ['Check', 'Result', 'What it says', 'What mends it'],
})}`
    return c.html(board('/health', 'Health', body))
  })
}

const ORDER = ['red', 'yellow', 'green']
const byUrgency = (a: Found, b: Found) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status)

function row({ name, status, message, command }: Found) {
  const { word, kind } = WORDS[status]
  return {
    cells: [
      name,
      html`<span class="badge ${kind}">${word}</span>`,
      foreign(message),
      command === undefined ? '' : html`<code>${command}</code>`,
    ],
  }
}
