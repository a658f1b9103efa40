import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anchorOf } from '../../../scripts/docs.ts'
import { changelog } from '../../../scripts/write-changelog.ts'
import { DOCS, readDoc } from '../../support/docs.ts'
import { ROOT } from '../../support/program.ts'

const source = (file: string) => readFileSync(join(ROOT, 'src', file), 'utf8')
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found]) => found!)

describe('README and docs', () => {
  it('are short where people begin', () => {
    expect(readDoc('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(150)
  })

  const contributing = globSync('.github/*.md', { cwd: ROOT }).map((file) => [file, readDoc(file)] as const)

  it.each([...DOCS, ...contributing])('%s links to what is there', (file, text) => {
    const lost = all(text, /\]\(([^)\s]+)\)/g).filter((link) => {
      const [path = '', anchor] = link.split('#')
      const to = path === '' ? file : join(dirname(file), path)
      if (/^https?:/.test(link)) return false
      if (!existsSync(join(ROOT, to))) return true
      return anchor !== undefined && !all(readDoc(to), /^#+ (.*)$/gm).some((heading) => anchorOf(heading) === anchor)
    })
    expect(lost).toEqual([])
  })

  it('lead from the README, and the start page of docs, to each of them', () => {
    const inDocs = all(readDoc('docs/README.md'), /\]\(([^)#/]+)/g).map((file) => `docs/${file}`)
    const linked = [...inDocs, ...all(readDoc('README.md'), /\]\(((?:docs|\.github)\/[^)#]+)/g)]
    expect(linked).toContain('docs/README.md')
    expect(
      [...DOCS.keys(), ...contributing.map(([file]) => file)].filter(
        (file) => file !== 'README.md' && !linked.includes(file),
      ),
    ).toEqual([])
  })

  it('say of each schema version what its migration says (node scripts/write-changelog.ts)', () => {
    expect(readDoc('docs/CHANGELOG.md')).toBe(changelog())
  })

  it('have every built-in plugin', () => {
    const plugins = all(globSync('src/plugins/*/config.json', { cwd: ROOT }).join('\n'), /plugins\/(\w+)\//g)
    const docs = readDoc('docs/captures.md')
    expect(plugins.length).toBeGreaterThan(20)
    expect(plugins.filter((name) => !docs.includes(`\`${name}\``))).toEqual([])
  })
})

describe("a room's README", () => {
  const readmes = globSync('src/**/README.md', { cwd: ROOT })

  it('has at most 60 lines', () => {
    expect(readmes.length).toBeGreaterThan(10)
    expect(readmes.filter((file) => readDoc(file).trimEnd().split('\n').length > 60)).toEqual([])
  })

  it('says where to start, and what happens when something fails', () => {
    const rooms = readmes.filter((file) => file.split('/').length === 3)
    expect(rooms.filter((file) => !/start\s+(reading\s+)?at\s+`/i.test(readDoc(file)))).toEqual([])
    expect(rooms.filter((file) => !/when something fails/i.test(readDoc(file)))).toEqual([])
  })
})

describe('docs/plugins.md', () => {
  const docs = readDoc('docs/plugins.md')
  const missing = (keys: readonly string[]) => {
    expect(keys.length).toBeGreaterThan(4)
    return keys.filter((key) => !new RegExp(`^\\|.*\`${key}\``, 'm').test(docs))
  }

  it('has every key of config.json that is read, and that ours have', () => {
    const manifest = source('hooks/manifest.ts')
    const read = all(manifest, /(?:config\[|words\(|own\(config, )'([\w-]+)'/g)
    const ours = globSync('src/plugins/*/config.json', { cwd: ROOT }).flatMap((file) =>
      Object.keys(JSON.parse(readDoc(file)) as object),
    )
    const isRead = (key: string) => !['$schema', 'title', 'type', 'additionalProperties'].includes(key)
    expect(missing([...new Set([...read, ...ours.filter(isRead)])])).toEqual([])
  })

  it('has every key of makes', () => {
    const [, makes = ''] = /export interface Makes \{\n(.*?)\n\}/s.exec(source('base/makes.ts')) ?? []
    expect(missing(all(makes, /^ {2}readonly (\w+)\??:/gm))).toEqual([])
  })

  it('has every key of a setting, and of a program', () => {
    const [, property = ''] = /interface Property \{\n(.*?)\n\}/s.exec(source('hooks/declared.ts')) ?? []
    expect(missing(all(property, /^ {2}readonly '?([\w-]+)'?\?:/gm))).toEqual([])
    expect(missing(all(source('hooks/upstream/required-binaries.ts'), /said\['(\w+)'\]/g))).toEqual([])
  })

  it('has every variable that hooks get', () => {
    const [, contract = ''] = /const contract: Texts = \{\n(.*?)\n {2}\}/s.exec(source('hooks/environment.ts')) ?? []
    const tree = source('hooks/upstream/plugin-tree.ts').split('treeEnvironment')[1]!
    expect(missing(all(contract + tree, /^ {4}([A-Z_]+):/gm))).toEqual([])
  })
})
