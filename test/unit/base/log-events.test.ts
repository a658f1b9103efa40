import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { withEvents } from '../../../scripts/write-events.ts'
import { LOG_EVENTS } from '../../../src/base/log-events.ts'
import { readDoc } from '../../support/docs.ts'
import { ROOT } from '../../support/program.ts'

const src = join(ROOT, 'src')
const code = globSync('**/*.ts', { cwd: src })
  .filter((file) => file !== 'base/log-events.ts')
  .map((file) => readFileSync(join(src, file), 'utf8'))
  .join('\n')

it('docs/events.md lists every event (node scripts/write-events.ts)', () => {
  const docs = readDoc('docs/events.md')
  expect(withEvents(docs)).toBe(docs)
  for (const name of Object.keys(LOG_EVENTS)) expect(docs).toContain(`| \`${name}\` |`)
})

it('every event happens somewhere', () => {
  expect(Object.keys(LOG_EVENTS).filter((name) => !new RegExp(`event(?::| =) '${name}'`).test(code))).toEqual([])
})

it('no field hides what every line has', () => {
  const ofAll = ['time', 'level', 'event', 'role', 'message', 'runner_id', 'process_id', 'crawl_id', 'snapshot_id']
  const fields: readonly string[] = Object.values(LOG_EVENTS).flatMap(({ fields }) => [...fields])
  expect(fields.filter((field) => ofAll.includes(field))).toEqual([])
})
