import { attemptName, HOSTED_LOG } from '../base/attempt-paths.ts'
import { endMarkOf } from '../base/row-log.ts'
import { many, tookText } from '../base/words.ts'
import { isConsequence } from '../machines/cause.ts'
import { foreign, type Html, html } from './html.ts'
import { live } from './layout.ts'
import type { SnapshotPageResult } from './model/snapshot.ts'
import type { Place } from './place.ts'

/** The results of hooks; those that had nothing to do, or that another failure kept from running, are folded. */
export function hookTable(results: readonly SnapshotPageResult[], place: Place): Html {
  const last = new Map(results.map((result) => [result.hookName, result]))
  const isIdle = ({ hookName }: SnapshotPageResult) => {
    const { status, output } = last.get(hookName)!
    return status === 'noresults' || (status === 'skipped' && isConsequence(output))
  }
  const [idle, busy] = [results.filter(isIdle), results.filter((result) => !isIdle(result))]
  const count = new Set(idle.map(({ hookName }) => hookName)).size
  const summary = html`<summary>${many(count, 'hook')} had nothing to do</summary>`
  return html`<div class="scroll" id="hooks"${live(place)}>${table(busy, place)}</div>
${count > 0 ? html`<details>${summary}${table(idle, place)}</details>` : ''}`
}

function table(results: readonly SnapshotPageResult[], place: Place): Html {
  const isAgain = ({ hookName }: SnapshotPageResult, at: number) => results[at - 1]?.hookName === hookName
  return html`<table>
<thead><tr><th>Hook</th><th>Result</th><th>What it said</th><th class="n">Time</th><th>Log</th></tr></thead>
<tbody>${results.map((result, at) => row(result, isAgain(result, at), place))}</tbody></table>`
}

function row(result: SnapshotPageResult, isAgain: boolean, place: Place): Html {
  const { plugin, hookName, attempt, status, output, startedAt, endedAt, logs } = result
  const seconds = startedAt && endedAt ? (endedAt.getTime() - startedAt.getTime()) / 1000 : null
  return html`<tr><th scope="row" title="${hookName}">${isAgain ? html`<small>attempt ${attempt}</small>` : plugin}</th>
<td class="${status}">${status}</td><td>${foreign(output)}</td>
<td class="n">${seconds === null ? '' : tookText(seconds)}</td>
<td>${Object.entries(logs).map(([name, path]) => logLink(result, name, path, place))}</td></tr>
`
}

function logLink(result: SnapshotPageResult, name: string, path: string, place: Place): Html {
  const { plugin, hookName, attempt } = result
  const title = `${plugin} ${name}`
  if (place.log) return html`<a href="${place.log(result, name)}" aria-label="${title}">${name}</a> `
  const href = place.file(path)
  if (path === HOSTED_LOG)
    return html`<a href="${href}${partOf(endMarkOf(attemptName(plugin, hookName, attempt)))}" target="_blank"
aria-label="${title}">${name}</a> `
  return html`<a href="${href}" target="copy" data-shown="text" data-name="${title}"
aria-label="${title}">${name}</a> `
}

/** A link to a text in a file; browsers follow it only in a new window. */
const partOf = (text: string) => `#:~:text=${encodeURIComponent(text).replaceAll('-', '%2D')}`
