import { own } from '../../base/own.ts'
import { type ListedSnapshot, SNAPSHOTS } from '../../db/lists/listings.ts'
import { html } from '../../pages/html.ts'
import { csv } from './csv.ts'

/** A format of pages for other programs, and for `add`. */
export interface ExportFormat {
  readonly head: string
  readonly page: (page: ListedSnapshot) => string
  readonly foot: string
}

/** The columns of a table; a name stands for that field of the record. */
const COLUMNS = [
  ...['url', 'title', 'tags', 'created_at', 'status', 'outcome', 'cause', 'http_status', 'sealed_at', 'depth'],
  ...['output_size', 'output_dir', 'id', 'crawl_id', 'bookmarked_at', 'notes', 'home_node'],
]

const seconds = (date: Date): number => Math.floor(date.getTime() / 1000)

/** When it was bookmarked, else when it was added here. */
const added = ({ bookmarked_at, created_at }: ListedSnapshot) => bookmarked_at ?? created_at

const link = (page: ListedSnapshot) => {
  const { url, title, tags } = page
  return html`<A HREF="${url}" ADD_DATE="${seconds(added(page))}" TAGS="${tags.join(',')}">${title ?? url}</A>`.text
}

/** `add` can read each of them. */
export const EXPORTS = {
  jsonl: { head: '', page: (page) => `${JSON.stringify(SNAPSHOTS.record(page))}\n`, foot: '' },
  csv: {
    head: `${COLUMNS.join(',')}\n`,
    page: (page) => {
      const record: Readonly<Record<string, unknown>> = { ...SNAPSHOTS.record(page), tags: page.tags.join(',') }
      return `${COLUMNS.map((name) => csv(own(record, name))).join(',')}\n`
    },
    foot: '',
  },
  netscape: {
    head: `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks</H1>
<DL><p>
`,
    page: (page) => `    <DT>${link(page)}\n${page.notes ? html`    <DD>${page.notes}\n`.text : ''}`,
    foot: '</DL><p>\n',
  },
  html: {
    head: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Archived pages</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
li { overflow-wrap: anywhere }
small { opacity: .7 }
</style>
<h1>Archived pages</h1>
<ul>
`,
    page: (page) => {
      const text = [added(page).toISOString().slice(0, 10), ...page.tags].join(' · ')
      const notes = page.notes && html`<p>${page.notes}</p>`
      return `<li>${link(page)} ${html`<small>${text}</small>${notes}`.text}</li>\n`
    },
    foot: '</ul>\n',
  },
  urls: { head: '', page: ({ url }) => `${url}\n`, foot: '' },
} as const satisfies Record<string, ExportFormat>

export type ExportName = keyof typeof EXPORTS
