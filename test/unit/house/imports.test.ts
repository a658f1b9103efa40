import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { drawing, withRooms } from '../../../scripts/draw-rooms.ts'
import { type Edge, edges, files, roomOf, SRC } from '../../../scripts/rooms.ts'
import { readDoc } from '../../support/docs.ts'

/** Rooms from the top down; those of one line stand side by side and do not know each other. */
const STOREYS = [
  ['main.ts'],
  ['program.ts', 'complete.ts'],
  ['cli'],
  ['server'],
  ['app'],
  ['runner'],
  ['workers'],
  ['hooks', 'pages', 'demo'],
  ['machines'],
  ['processes'],
  ['db', 'importers'],
  ['engine', 'browse'],
  ['base'],
]
/** The same of the rooms within `workers`. */
const WORKERS = [['entry.ts'], ['page', 'crawl', 'adopt'], ['sequence'], ['repair'], ['index'], ['supervise']]

const storeyOf = (file: string) => STOREYS.findIndex((rooms) => rooms.includes(roomOf(file)))
const written = ({ from, to }: Edge) => `${from} imports ${to}`

describe('imports', () => {
  it('are seen by this test, each of a file that is there', () => {
    expect(files.length).toBeGreaterThan(100)
    for (const file of files) {
      const mentioned = readFileSync(join(SRC, file), 'utf8').match(/'\.\.?\/[^'\n]*\.ts'/g)?.length ?? 0
      expect(edges.filter(({ from }) => from === file).length, file).toBe(mentioned)
    }
    expect(edges.filter(({ to }) => !files.includes(to)).map(written)).toEqual([])
    const rooms = new Set(files.map(roomOf))
    expect(
      [...rooms].filter((room) => room !== 'plugins' && !STOREYS.flat().includes(room)),
      'rooms without a storey',
    ).toEqual([])
  })

  it('between rooms go down only', () => {
    const up = edges.filter(({ from, to }) => {
      if (roomOf(from) === roomOf(to) || roomOf(from) === 'plugins' || roomOf(to) === 'plugins') return false
      return storeyOf(to) <= storeyOf(from)
    })
    expect(up.map(written)).toEqual([])
  })

  it('are drawn as they are (node scripts/draw-rooms.ts)', () => {
    expect(readDoc('docs/architecture.md')).toBe(withRooms(readDoc('docs/architecture.md')))
    expect(readDoc('docs/rooms.svg')).toBe(drawing())
  })

  it('go down only between the rooms of the workers, too', () => {
    const within = edges.filter(({ from, to }) => roomOf(from) === 'workers' && roomOf(to) === 'workers')
    const [roomIn, storeyIn] = [
      (file: string) => file.split('/')[1]!,
      (file: string) => WORKERS.findIndex((rooms) => rooms.includes(file.split('/')[1]!)),
    ]
    expect(within.length).toBeGreaterThan(80)
    const wrong = within.filter(
      ({ from, to }) => storeyIn(from) < 0 || (roomIn(from) !== roomIn(to) && storeyIn(to) <= storeyIn(from)),
    )
    expect(wrong.map(written)).toEqual([])
  })

  it('of what a page shows are its own files, and of other rooms leaves, tables and graphs: nothing renders there', () => {
    const isModel = (file: string) => file.startsWith('pages/model/')
    const model = edges.filter(({ from }) => isModel(from))
    expect(model.length).toBeGreaterThan(20)
    const wrong = model.filter(({ to }) => !isModel(to) && !['base', 'db', 'machines'].includes(roomOf(to)))
    expect(wrong.map(written)).toEqual([])
  })

  it('of what runs in a browser lead to what says how pages look, and to leaves', () => {
    const isScript = (file: string) => file.startsWith('pages/script/')
    const out = edges.filter(({ from, to }) => isScript(from) && !isScript(to))
    expect(out.length).toBeGreaterThan(5)
    const ofPages = ['page-row.ts', 'index-line.ts', 'links.ts', 'list-data.ts', 'markup.ts'].map(
      (name) => `pages/${name}`,
    )
    const shared = [...ofPages, 'base/words.ts', 'base/own.ts']
    expect(out.filter(({ to }) => !shared.includes(to)).map(written)).toEqual([])
    expect(edges.filter(({ from, to }) => isScript(to) && !isScript(from)).map(written)).toEqual([])
  })

  it('of what runs in a page that is visited stay there; what it takes and gives is known outside', () => {
    const isScript = (file: string) => file.startsWith('browse/script/')
    const [types, shared] = ['browse/script/scripts.ts', ['browse/persona/storage.ts', 'browse/browser/frame-mark.ts']]
    const wrong = edges.filter(({ from, to }) =>
      isScript(from) ? !isScript(to) && !shared.includes(to) : isScript(to) && to !== types,
    )
    expect(edges.filter(({ to }) => isScript(to)).length).toBeGreaterThan(20)
    expect(wrong.map(written)).toEqual([])
  })

  it('of what only ArchiveBox’s suite needs lead from hooks to it, never back', () => {
    const isUpstream = (file: string) => file.startsWith('hooks/upstream/')
    const touching = edges.filter(({ from, to }) => roomOf(from) === 'hooks' && isUpstream(to) !== isUpstream(from))
    expect(touching.some(({ to }) => isUpstream(to))).toBe(true)
    expect(touching.filter(({ from, to }) => isUpstream(from) && roomOf(to) === 'hooks').map(written)).toEqual([])
  })

  it('of a plugin are its own files, what plugins share, the contract, and rooms that know no hooks', () => {
    const folderOf = (file: string) => file.split('/').slice(0, 2).join('/')
    const wrong = edges.filter(({ from, to }) => {
      if (roomOf(from) !== 'plugins' || ['base', 'browse', 'importers'].includes(roomOf(to))) return false
      if (['hooks/contract.ts', 'hooks/result-record.ts'].includes(to)) return false
      return !['plugins/base', folderOf(from)].includes(folderOf(to))
    })
    expect(wrong.map(written)).toEqual([])
  })

  it('of plugins are nobody’s: they are executables', () => {
    const wrong = edges.filter(({ from, to }) => roomOf(to) === 'plugins' && roomOf(from) !== 'plugins')
    expect(wrong.map(written)).toEqual([])
  })
})
