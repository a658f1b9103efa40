// What each plugin means: how a page goes by its results alone, and beside those of others, and where what it makes is
// shown. One line a plugin; they change only on purpose.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { OutputFile, ResultStatus } from '../../../src/db/tables.ts'
import { type JudgedResult, verdictOn } from '../../../src/machines/verdict.ts'
import { bestOf, cardsOf, outputsOf } from '../../../src/pages/model/outputs.ts'
import { meaningsOf } from '../../support/meanings.ts'
import { ROOT } from '../../support/program.ts'

/** Of ArchiveBox's own suite, and of people. */
const OTHERS =
  'accessibility archivewebpage article chrome_launch chrome_navigate chrome_screencast chrome_tab dns forumdl ' +
  'gallerydl git infiniscroll istilldontcareaboutcookies liteparse markdown media mercury defuddle modalcloser ' +
  'opendataloader papersdl parse_html_urls parse_anything search_backend_sqlite search_anything seo ssl sslcerts ' +
  'trafilatura twocaptcha ublock youtubedl ytdlp of_somebody constructor'
const NAMES = [
  ...new Set([
    ...readdirSync(join(ROOT, 'src', 'plugins'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name !== 'base')
      .map(({ name }) => name),
    ...OTHERS.split(' '),
  ]),
].sort()

const MEANINGS = meaningsOf(...NAMES)

const file = (mimetype: string): OutputFile => ({ mimetype, size: 7 })
const FILES: Readonly<Record<string, Readonly<Record<string, OutputFile>>>> = {
  html: { 'output.html': file('text/html'), 'other.txt': file('text/plain') },
  text: { 'some.txt': file('text/plain') },
  picture: { 'some.png': file('image/png'), 'thumbnail.webp': file('image/webp') },
  bytes: { 'some.bin': file('application/octet-stream') },
  package: { 'some.wacz': file('application/wacz') },
}

const result = (plugin: string, status: ResultStatus, more: Partial<JudgedResult> = {}): JudgedResult => ({
  ...{ plugin, hook_name: `on_Snapshot__50_${plugin}`, status, output_str: '', output_json: null },
  has_files: status === 'succeeded',
  ...more,
})

/** `archived`, `partial (why)`, `failed (why)`. */
function went(results: readonly JudgedResult[], headersStatus: number | null = null): string {
  const { outcome, cause } = verdictOn(results, MEANINGS, headersStatus)
  return cause === null ? outcome : `${outcome} (${cause})`
}

function meaning(plugin: string): string {
  const other = result('of_another', 'succeeded')
  const missing = { output_json: { http_status: 404 } }
  const how = {
    'with files': went([result(plugin, 'succeeded')]),
    'without files': went([result(plugin, 'succeeded', { has_files: false })]),
    'nothing found': went([result(plugin, 'noresults')]),
    'beside a copy': went([result(plugin, 'failed', { output_str: 'broke' }), other]),
    'beside a failed copy': went([
      result(plugin, 'succeeded'),
      result('of_another', 'failed', { output_str: 'broke' }),
    ]),
    'of an error page': went([result(plugin, 'succeeded', missing)], 404),
    'of an empty answer': went([
      result(plugin, 'succeeded'),
      result('of_another', 'noresults', { output_json: { empty: true } }),
    ]),
  }
  const shown = Object.entries(FILES).map(([kind, files]) => {
    const outputs = outputsOf(
      [
        { plugin, status: 'succeeded', output: '', files },
        { plugin: 'of_another', status: 'succeeded', output: '', files: { 'x.html': file('text/html') } },
      ],
      MEANINGS,
    )
    const own = outputs.find((output) => output.plugin === plugin)!
    const marks = [bestOf(outputs) === own && 'best', cardsOf(outputs).includes(own) && 'card'].filter(Boolean)
    return `${kind}: ${[own.group, own.shown, ...marks].join(' ')}`
  })
  const lines = [...Object.entries(how).map(([when, what]) => `${when}: ${what}`), ...shown]
  return `${plugin}\n${lines.map((line) => `  ${line}\n`).join('')}`
}

it('of every plugin stays what it is', async () => {
  const text = NAMES.map(meaning).join('')
  await expect(text).toMatchFileSnapshot(join(ROOT, 'test', 'fixtures', 'meanings.txt'))
})
