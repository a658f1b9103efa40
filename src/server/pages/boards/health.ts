import type { Found } from '../../../app/doctor/check.ts'
import { doctor } from '../../../app/doctor/doctor.ts'
import { foreign, html } from '../../../pages/html.ts'
import { time } from '../../../pages/layout.ts'
import type { App } from '../../visit.ts'
import type { Web } from '../../web.ts'
import { board } from '../frame.ts'
import { OnceInAWhile } from './once-in-a-while.ts'
import { table } from './table.ts'

/** The status of a check, as a word and a colour. */
const WORDS = {
  green: { word: 'fine', kind: 'archived' },
  yellow: { word: 'careful', kind: 'partial' },
  red: { word: 'broken', kind: 'failed' },
} as const

/** The findings of `doctor`, with what fixes them. */
export function routeHealthBoard(app: App, { settingsNow }: Web): void {
  const checks = new OnceInAWhile(async () => await doctor(await settingsNow(), { fix: false }))
  app.get('/health', async (c) => {
    const { value, at } = await checks.get()
    const count = (status: Found['status']) => value.filter((each) => each.status === status).length
    const [red, yellow] = [count('red'), count('yellow')]
    const kind = red > 0 ? 'failed' : yellow > 0 ? 'partial' : 'open'
    const text =
      red > 0
        ? 'No page can be archived like this.'
        : yellow > 0
          ? `Pages can be archived; ${yellow} of ${value.length} checks need attention.`
          : 'No problems.'
    const body = html`<h1>Health</h1>
<p class="cause ${kind}">${text}</p>
<p class="dim">The output of <code>archivebox-ts doctor</code>, as of ${time(at)}.</p>
${table({
  ...{ caption: 'Checks', none: 'There are no checks.', rows: [...value].sort(byUrgency).map(row) },
  heads: ['Check', 'Result', 'Finding', 'Fix'],
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
