import { attemptName, HOSTED_LOG } from '../base/attempt-paths.ts'
import { endMarkOf } from '../base/row-log.ts'
import { duration, many } from '../base/words.ts'
import type { OutputFile, ResultStatus } from '../db/tables.ts'
import { isConsequence } from '../machines/cause.ts'
import { foreign, type Html, href, html } from './layout.ts'

export interface SnapshotPageResult {
  readonly plugin: string
  readonly hookName: string
  readonly attempt: number
  readonly status: ResultStatus
  readonly output: string
  readonly files: Readonly<Record<string, OutputFile>>
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  /** What it printed, by what it is, relative to the folder of the page. */
  readonly logs: Readonly<Record<string, string>>
}

/** What hooks said; those that had nothing to do, as it was or since another one failed, are folded away. */
export function hookTable(results: readonly SnapshotPageResult[]): Html {
  const last = new Map(results.map((result) => [result.hookName, result]))
  const isIdle = ({ hookName }: SnapshotPageResult) => {
    const { status, output } = last.get(hookName)!
    return status === 'noresults' || (status === 'skipped' && isConsequence(output))
  }
  const [idle, busy] = [results.filter(isIdle), results.filter((result) => !isIdle(result))]
  const count = new Set(idle.map(({ hookName }) => hookName)).size
  return html`<div class="scroll" id="hooks">${table(busy)}</div>
${count > 0 ? html`<details><summary>${many(count, 'hook')} had nothing to do</summary>${table(idle)}</details>` : ''}`
}

function table(results: readonly SnapshotPageResult[]): Html {
  return html`<table>
<thead><tr><th>Hook</th><th>Result</th><th>What it said</th><th class="n">Time</th><th>Log</th></tr></thead>
<tbody>${results.map((result, at) => row(result, results[at - 1]?.hookName === result.hookName))}</tbody></table>`
}

function row(result: SnapshotPageResult, isAgain: boolean): Html {
  const { plugin, hookName, attempt, status, output, startedAt, endedAt, logs } = result
  const seconds = startedAt && endedAt ? (endedAt.getTime() - startedAt.getTime()) / 1000 : null
  return html`<tr><th scope="row" title="${hookName}">${isAgain ? html`<small>attempt ${attempt}</small>` : plugin}</th>
<td class="${status}">${status}</td><td>${foreign(output)}</td>
<td class="n">${seconds === null ? '' : duration(seconds)}</td>
<td>${Object.entries(logs).map(([name, path]) => logLink(result, name, path))}</td></tr>
`
}

function logLink({ plugin, hookName, attempt }: SnapshotPageResult, name: string, path: string): Html {
  const title = `${plugin} ${name}`
  if (path === HOSTED_LOG)
    return html`<a href="${href(path)}${partOf(endMarkOf(attemptName(plugin, hookName, attempt)))}" target="_blank"
aria-label="${title}">${name}</a> `
  return html`<a href="${href(path)}" target="copy" data-shown="text" data-name="${title}"
aria-label="${title}">${name}</a> `
}

/** The place of a text in a file; browsers go there only in a window of its own. */
const partOf = (text: string) => `#:~:text=${encodeURIComponent(text).replaceAll('-', '%2D')}`
