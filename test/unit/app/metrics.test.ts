// What Prometheus reads: the text format, the docs, and the files for it and for Grafana.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withMetrics } from '../../../scripts/write-metrics.ts'
import { type About, exposed } from '../../../src/app/metrics/exposition.ts'
import { METRICS } from '../../../src/app/metrics/metrics.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { readDoc } from '../../support/docs.ts'
import { readExposition } from '../../support/exposition.ts'
import { ROOT } from '../../support/program.ts'

const folder = join(ROOT, 'docs', 'metrics')
/** Debian has it in its package prometheus. */
const PROMTOOL = withPrograms('promtool')
const promtool = (args: readonly string[], input = '') =>
  spawnSync('promtool', args, { cwd: folder, input, encoding: 'utf8', env: { PATH: PROMTOOL.path } })
const needs = PROMTOOL.missing ? `: ${PROMTOOL.missing}` : ''
/** One sample of every metric. */
const all = Object.entries<About>(METRICS)
  .map(([name, about]) => exposed(name, about, [[...(about.labels ?? []).map(() => 'x'), 1]]))
  .join('')

describe('the text format', () => {
  it('escapes what a label may hold, and a help', () => {
    const plugin = 'a"b\\c\nd'
    const text = exposed('a_total', { type: 'counter', help: 'in \\ and\nout', labels: ['plugin', 'x'] }, [
      [plugin, '', 1.5],
    ])
    expect(text).toBe(
      '# HELP a_total in \\\\ and\\nout\n# TYPE a_total counter\na_total{plugin="a\\"b\\\\c\\nd",x=""} 1.5\n',
    )
    expect(readExposition(text)).toEqual([{ name: 'a_total', labels: { plugin, x: '' }, value: 1.5 }])
  })

  it('has nothing of a metric without values', () => {
    expect(exposed('a', { type: 'gauge', help: 'x' }, undefined)).toBe('')
    expect(exposed('a', { type: 'gauge', help: 'x', labels: ['b'] }, [])).toBe('')
  })

  it('of all metrics can be read', () => {
    expect(readExposition(all).map(({ name }) => name)).toEqual(Object.keys(METRICS))
  })

  it.skipIf(PROMTOOL.missing)(`of all metrics is as promtool wants it${needs}`, () => {
    const { status, stdout, stderr } = promtool(['check', 'metrics'], all)
    expect([status, stdout + stderr]).toEqual([0, ''])
  })
})

describe('docs/metrics', () => {
  it('lists every metric (node scripts/write-metrics.ts)', () => {
    const docs = readDoc('docs/metrics.md')
    expect(withMetrics(docs)).toBe(docs)
    for (const name of Object.keys(METRICS)) expect(docs).toContain(`\`${name}\``)
  })

  it.each(['archivebox.rules.yml', 'archivebox.rules.test.yml', 'dashboard.json'])(
    '%s names no other metrics',
    (file) => {
      const text = readFileSync(join(folder, file), 'utf8')
      const named = [...text.matchAll(/\b(?:archivebox|process)_\w+/g)].map(([name]) => name)
      expect(named.length).toBeGreaterThan(4)
      expect(named.filter((name) => !Object.hasOwn(METRICS, name))).toEqual([])
    },
  )

  it('dashboard.json is one that Grafana imports, with a place for each panel', () => {
    const { panels, templating, uid } = JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8')) as {
      panels: { id: number; targets: object[]; gridPos: { x: number; y: number; w: number; h: number } }[]
      templating: { list: { name: string }[] }
      uid: string
    }
    expect(uid).toBe('archivebox-ts')
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job'])
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_none, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    for (const { gridPos, targets } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
      expect(targets.length).toBeGreaterThan(0)
    }
  })

  it
    .skipIf(PROMTOOL.missing)
    .each(['check config prometheus.yml', 'check rules archivebox.rules.yml', 'test rules archivebox.rules.test.yml'])(
    `promtool %s succeeds${needs}`,
    (words) => {
      const { status, stdout, stderr } = promtool(words.split(' '))
      expect(status, stdout + stderr).toBe(0)
      expect(stdout).toContain('SUCCESS')
    },
  )

  it('has five alarms, each of them tested', () => {
    const alarms = [...readFileSync(join(folder, 'archivebox.rules.yml'), 'utf8').matchAll(/alert: (\w+)/g)]
    const tests = readFileSync(join(folder, 'archivebox.rules.test.yml'), 'utf8')
    expect(alarms.length).toBe(5)
    for (const [, name] of alarms) expect(tests.split(`alertname: ${name}\n`).length, name).toBeGreaterThan(1)
  })
})
