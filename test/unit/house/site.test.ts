import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'parse5'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeSite } from '../../../scripts/docs.ts'
import { DOCS } from '../../support/docs.ts'

describe('the site of the docs', () => {
  let folder = ''
  let pages: ReadonlyMap<string, string>
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'abx-site-'))
    writeSite(folder)
    const names = globSync('*.html', { cwd: folder })
    pages = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('has a page for each document, which each page leads to', () => {
    const expected = [...DOCS.keys()].flatMap((file) => {
      const [, name] = /^docs\/(.*)\.md$/.exec(file) ?? []
      return name === undefined ? [] : [name === 'README' ? 'index.html' : `${name}.html`]
    })
    expect([...pages.keys()].sort()).toEqual(expected.sort())
    for (const [name, html] of pages)
      expect(
        expected.filter((page) => !html.includes(`<a href="${page}"`)),
        name,
      ).toEqual([])
  })

  it('is plain and correct HTML, whose links and pictures lead to what is there', () => {
    const ids = new Map([...pages].map(([name, html]) => [name, new Set<string>(html.match(/(?<= id=")[^"]+/g))]))
    for (const [name, html] of pages) {
      const errors: string[] = []
      parse(html, { onParseError: ({ code }) => errors.push(code) })
      expect(errors, name).toEqual([])
      expect(html).not.toMatch(/<script|<style|style=/)
      const links = [...html.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link!)
      const lost = links.filter((link) => {
        const [path = '', anchor] = link.split('#')
        if (/^https?:/.test(link)) return false
        const to = path === '' ? name : path
        return !existsSync(join(folder, to)) || (anchor !== undefined && !ids.get(to)?.has(anchor))
      })
      expect(lost, name).toEqual([])
    }
  })
})
