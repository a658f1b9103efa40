import { type Html, html } from './html.ts'
import type { ListData } from './list-data.ts'

const OUTCOMES = { '': 'All', archived: 'Archived', partial: 'Partial', failed: 'Failed' }

export const NONE_YET = 'No page is done yet.'

/**
 * The list of pages, with its search and its filters. script/page-list.ts fills it from the chunks of the index.
 * @param empty what it says when there is none
 */
export function pageList({ chunks, total }: Pick<ListData, 'chunks' | 'total'>, empty = NONE_YET): Html {
  const filter = (name: string, label: string) =>
    html`<label hidden><span>${label}</span><select name="${name}"><option value="">any</option></select></label>`
  return html`<main>
<form class="controls" id="controls" role="search" hidden>
<label class="search"><span class="hidden">Search title, URL, tags and text</span>
<input type="search" name="q" placeholder="Search title, URL, tags and text" autocomplete="off"
spellcheck="false"></label>
<fieldset class="outcomes"><legend class="hidden">Outcome</legend>${Object.entries(OUTCOMES).map(choice)}</fieldset>
<details class="filters"><summary>Filters</summary><div>
${filter('host', 'Host')}${filter('tag', 'Tag')}${filter('cause', 'Cause')}
<label><span>From</span><input type="date" name="from"></label>
<label><span>To</span><input type="date" name="to"></label>
</div></details>
<label class="view"><input type="checkbox" name="thumbs"><span>Grid</span></label>
</form>
<section id="causes" class="causes" aria-label="What failed, by cause" hidden></section>
<p class="found" id="found" role="status" aria-live="polite">${total === 0 ? empty : ''}</p>
<noscript><p>The list of pages needs the script that lies beside this page${
    chunks.length > 0 ? '' : ', and has nothing to show yet'
  }.</p></noscript>
<ol class="list" id="list"></ol>
</main>`
}

function choice([outcome, name]: [string, string]): Html {
  const checked = outcome === '' ? html` checked` : ''
  return html`<label class="${outcome}"><input type="radio" name="outcome" value="${outcome}"${checked}>
<span>${name} <b></b></span></label>
`
}
