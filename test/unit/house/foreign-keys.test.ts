import { join, relative } from 'node:path'
import {
  type AsExpression,
  type BinaryExpression,
  type ElementAccessExpression,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast'
import { API, TypeFlags } from 'typescript/unstable/sync'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wantedBy } from '../../../src/app/records/queue-records.ts'
import { Meanings } from '../../../src/base/makes.ts'
import { mimeOf } from '../../../src/base/mime.ts'
import { own, put } from '../../../src/base/own.ts'
import { sameSiteOf } from '../../../src/browse/persona/cookie.ts'
import { placeOf } from '../../../src/importers/archivebox/folders.ts'
import { outputsOf } from '../../../src/pages/model/outputs.ts'
import { ROOT } from '../../support/program.ts'

/** What every object seems to have. */
const INHERITED = ['constructor', '__proto__', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf']

/** Where a name that is only a `string` may be a key: by file or folder, with the words of the place. All are there. */
const MAY: readonly (readonly [place: string, words: RegExp, why: string])[] = [
  ['base/own.ts', /^record\[name\]$/, 'this is how it is done'],
  ['engine/', /./, 'keys are states, events and columns of graphs, which are literals of the program'],
  ['base/config-edit.ts', /^(?:expected|parsed|table)\[/, 'of settings that the user names, found in the file before'],
  ['workers/supervise/home-environment.ts', /^process\.env\[name\]$/, 'by names of our own'],
  ['browse/http/request.ts', /^headers\[name\]$/, 'behind Object.hasOwn, once per header'],
]

describe('a key from elsewhere', () => {
  let api: API
  beforeAll(() => {
    api = new API({ cwd: ROOT })
  })
  afterAll(() => api.close())

  it('is looked up in a Map, or by `own`: nothing that is only a string is the index of an object', () => {
    const projects = ['.', 'src/pages/script', 'src/browse/script'].map((name) => join(ROOT, name, 'tsconfig.json'))
    const snapshot = api.updateSnapshot({ openProjects: projects })
    const wrong: string[] = []
    const stale = new Set(MAY)
    const files = snapshot.getProjects().flatMap(({ program, checker }) =>
      program
        .getSourceFileNames()
        .filter((name) => name.startsWith(join(ROOT, 'src/')))
        .map((name) => ({ name, program, checker })),
    )
    expect(new Set(files.map(({ checker }) => checker)).size).toBe(projects.length)
    expect(files.length).toBeGreaterThan(600)
    for (const { name, program, checker } of files) {
      const file = program.getSourceFile(name)!
      const path = relative(join(ROOT, 'src'), name)
      const visit = (node: Node): void => {
        const key = keyIn(node)
        const words = node.getText(file).replaceAll(/\s+/g, ' ')
        const isAny = key && ((checker.getTypeAtLocation(key)?.flags ?? 0) & TypeFlags.String) !== 0
        const allowed = isAny ? MAY.filter(([place, text]) => path.startsWith(place) && text.test(words)) : []
        for (const each of allowed) stale.delete(each)
        if (isAny && allowed.length === 0) wrong.push(`${path}: ${words}`)
        node.forEachChild(visit)
      }
      visit(file)
    }
    expect(wrong).toEqual([])
    expect([...stale]).toEqual([])
  })

  it.each(INHERITED)('such as %s finds nothing, and is kept where it is written', (name) => {
    expect(own({}, name)).toBeUndefined()
    const record: Record<string, number> = {}
    put(record, name, 1)
    expect([own(record, name), JSON.stringify(record)]).toEqual([1, `{"${name}":1}`])
    expect(mimeOf(`x.${name}`)).toBe('application/octet-stream')
    expect(sameSiteOf(name)).toBeUndefined()
    expect(placeOf(name, false, true)).toBe(`wget/${name}`)
    const line = { text: `{"type":"${name}"}`, record: { type: name } }
    expect(wantedBy([line])).toMatchObject({ others: [line.text], urls: [], snapshots: [] })
    const files = Object.fromEntries([[name, { size: 1, mimetype: mimeOf(`x.${name}`) }]])
    const [output] = outputsOf([{ plugin: name, status: 'succeeded', output: name, files }], new Meanings([]))
    expect(output).toMatchObject({ group: 'data', path: `${name}/${name}`, shown: 'file', files: 1, size: 1 })
    expect(output).not.toHaveProperty('thumbnail')
  })
})

/** What an object is asked for, where that is not written there: `object[key]`, `key in object`. */
function keyIn(node: Node): Node | undefined {
  if (node.kind === SyntaxKind.ElementAccessExpression)
    return uncast((node as ElementAccessExpression).argumentExpression)
  const { operatorToken, left } = node as BinaryExpression
  const isIn = node.kind === SyntaxKind.BinaryExpression && operatorToken.kind === SyntaxKind.InKeyword
  return isIn ? uncast(left) : undefined
}

/** `key as keyof typeof TABLE` says what is to be found out. */
const uncast = (node: Node): Node | undefined => {
  const inner = node.kind === SyntaxKind.AsExpression ? (node as AsExpression).expression : node
  return inner.kind === SyntaxKind.StringLiteral ? undefined : inner
}
