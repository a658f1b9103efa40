import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { manPage } from '../../../scripts/man-page.ts'
import { verbTree } from '../../../src/cli/completion/tree.ts'
import { EXIT_CODES } from '../../../src/cli/exit-codes.ts'
import { commandTree } from '../../../src/cli/program.ts'
import { withPrograms } from '../../support/bare-path.ts'

type Tree = ReturnType<typeof verbTree>
const leaves = (tree: Tree, path: string): { path: string; flags: string[] }[] =>
  tree.verbs.length === 0
    ? [{ path, flags: tree.flags.flatMap(({ names }) => names) }]
    : tree.verbs.flatMap((verb) => leaves(verb, `${path} ${verb.name}`.trim()))

describe('the manual page', () => {
  const page = manPage('1.2.3')

  it('has every verb with every option, and every exit code', () => {
    const sections = new Map(
      page.split('\n.SS ').map((text) => [text.split('\n')[0]!.replaceAll('\\', ''), text.replaceAll('\\-', '-')]),
    )
    const verbs = leaves(verbTree(commandTree()), '')
    expect(verbs.length).toBeGreaterThan(50)
    for (const { path, flags } of verbs) {
      expect([...sections.keys()]).toContain(path)
      for (const flag of flags.filter((name) => !['--help', '-h'].includes(name)))
        expect(sections.get(path), path).toContain(flag)
      expect(sections.get(path), path).toContain(`archivebox-ts ${path}`)
    }
    for (const [code] of EXIT_CODES) expect(page).toContain(`\n\\fB${code}\\fR\n`)
    expect(page).toMatch(/^\.TH ARCHIVEBOX\\-TS 1 "" "archivebox\\-ts 1\.2\.3"/)
  })

  const groff = withPrograms('groff', 'troff', 'grotty')
  it.skipIf(groff.missing)(`is read by groff without a warning${groff.missing ? ` (${groff.missing})` : ''}`, () => {
    const { status, stderr, stdout } = spawnSync('groff', ['-man', '-ww', '-Tutf8'], {
      input: page,
      encoding: 'utf8',
      env: { PATH: groff.path },
    })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toContain('archives web pages and never loses its place')
  })
})
