import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isNoSubstitutionTemplateLiteral, isTemplateExpression, type Node } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../../support/program.ts'

// A status moves through its graph: by the engine's own statements, or by its parts of others (src/engine/moved.ts,
// born.ts, woken.ts). Nobody else writes what the engine decides by.

/** The columns that the engine decides by. */
const OWN = ['status', 'retry_at', 'claim_token', 'claimed_by', 'attempts', 'status_changed_at', 'moved_by']
const TABLES = ['crawl', 'snapshot', 'archive_result', 'binary', 'schedule']

/** The texts of all templates, with `?` for what stands in `${}`. */
function textsIn(node: Node): string[] {
  const own = isNoSubstitutionTemplateLiteral(node)
    ? [node.text]
    : isTemplateExpression(node)
      ? [[node.head, ...node.templateSpans.map(({ literal }) => literal)].map(({ text }) => text).join('?')]
      : []
  node.forEachChild((child) => {
    own.push(...textsIn(child))
  })
  return own
}

/** What a text of SQL writes of the engine's columns. */
function writesOf(text: string): string[] {
  const plain = text.replace(/--.*$/gm, '').replaceAll('"', '')
  const updates = [...plain.matchAll(/\bupdate\s+(\S+)\s+(?:as\s+)?(?:(?!set\b)\w+\s+)?set\b(.*?)(?=\bwhere\b|$)/gs)]
  const inserts = [...plain.matchAll(/\binsert\s+into\s+(\S+)\s*(?:as\s+\w+\s*)?\(([^)]*)\)/gs)]
  const isTheirs = (table: string) => TABLES.includes(table) || table.includes('?')
  return [
    ...updates.flatMap(([, table, set]) =>
      isTheirs(table!) ? OWN.filter((column) => new RegExp(`\\b${column}\\s*=`).test(set!)) : [],
    ),
    ...inserts.flatMap(([, table, columns]) =>
      isTheirs(table!) ? OWN.filter((column) => new RegExp(`\\b${column}\\b`).test(columns!)) : [],
    ),
  ]
}

// The rows of `process` have no graph: a process writes its own, and that of a dead one is closed by whoever proved it
// dead. A backup is read back by COPY, as it was. What runs in a browser has no database.
const files = globSync('src/**/*.ts', { cwd: ROOT }).filter(
  (file) => !/^src\/(?:engine|(?:pages|browse)\/script)\//.test(file),
)

describe('statements that write what the engine decides by', () => {
  it('are found in whatever form', () => {
    const wrong = {
      "with b as (update crawl c set title = ?, status = 'sealed' where id = 1) select": ['status'],
      'update "binary" set abspath = \'\', retry_at = now()': ['retry_at'],
      "insert into archive_result as r (id, status) select 1, 'x'": ['status'],
      'update ? set attempts = 0': ['attempts'],
      "update snapshot set title = '' where status = 'x'": [],
      "update process set status = 'lost'": [],
    }
    for (const [text, columns] of Object.entries(wrong)) expect(writesOf(text), text).toEqual(columns)
  })

  it("are the engine's alone", () => {
    const api = new API({ cwd: ROOT })
    try {
      const { program } = api.updateSnapshot({ openProjects: [join(ROOT, 'tsconfig.json')] }).getProjects()[0]!
      let templates = 0
      const written = files.flatMap((path) => {
        const file = program.getSourceFile(join(ROOT, path))!
        return textsIn(file).flatMap((text) => {
          templates += 1
          return writesOf(text).map((column) => [path, column])
        })
      })
      expect(templates).toBeGreaterThan(300)
      expect(written).toEqual([])
    } finally {
      api.close()
    }
  }, 60_000)

  it('are not built by methods', () => {
    const built = files.flatMap((file) => {
      const code = readFileSync(join(ROOT, file), 'utf8')
      const builds = [...code.matchAll(/\.(?:updateTable|insertInto)\(\s*'(\w+)'\)(.*?)\.(?:execute|on|where)/gs)]
      return builds.flatMap(([, table, rest]) =>
        TABLES.includes(table!)
          ? OWN.filter((column) => rest!.includes(` ${column}:`)).map((column) => [file, column])
          : [],
      )
    })
    // The first moment of a schedule is what its recurrence says, which no graph knows.
    expect(built).toEqual([['src/db/schedules.ts', 'retry_at']])
  })
})
