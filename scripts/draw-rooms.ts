// Draws the rooms of src by the imports among their files: docs/rooms.svg, and their table in docs/architecture.md.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { edges, files, roomOf, SRC } from './rooms.ts'

const docs = join(SRC, '..', 'docs')
const TABLE = /^\| room \|.*?(?=\n\n|\n$(?!\n))/ms

const readmeOf = (room: string) => join(SRC, room, 'README.md')

/** A room has a README, which says what it owns. */
const rooms = [...new Set(files.map(roomOf))].filter((room) => existsSync(readmeOf(room)))

/** The rooms that a room's files import from. */
const imports: ReadonlyMap<string, readonly string[]> = new Map(
  rooms.map((room) => {
    const to = edges.flatMap((edge) => (roomOf(edge.from) === room ? [roomOf(edge.to)] : []))
    return [room, rooms.filter((other) => other !== room && to.includes(other))]
  }),
)

/** How many rooms lie below one, one upon the other. */
const heightOf = (room: string): number => 1 + Math.max(-1, ...imports.get(room)!.map(heightOf))

const highestFirst = rooms.toSorted((a, b) => heightOf(b) - heightOf(a) || (a < b ? -1 : 1))

/** What a room's README says first, up to its details. */
function owned(room: string): string {
  const paragraphs = readFileSync(readmeOf(room), 'utf8').split('\n\n')
  const said = paragraphs.find((text) => /^[A-Z]/.test(text))?.replaceAll('\n', ' ') ?? ''
  return said.replace(/^Owns /, '').replace(/(:|\.) .*/, '')
}

/** The text with the present table of rooms. */
export function withRooms(text: string): string {
  const row = (room: string) =>
    `| [\`${room}\`](../src/${room}/README.md) | ${owned(room)} | ${imports.get(room)!.join(', ')} |`
  return text.replace(TABLE, () => ['| room | owns | imports |', '|---|---|---|', ...highestFirst.map(row)].join('\n'))
}

const [WIDTH, BOX, TALL, STEP] = [720, 104, 30, 64]

/** Where a box of a storey stands; every other storey is wider, so that fewer lines pass behind the boxes below. */
function acrossOf(at: number, count: number, height: number): number {
  const fromMiddle = (at + 0.5) / count - 0.5
  return Math.round(WIDTH * (0.5 + fromMiddle * (count === 2 && height % 2 === 1 ? 1.5 : 1)))
}

/** The rooms as boxes on storeys, with a line to each room below that is not reached through another. */
export function drawing(): string {
  const storeys = Map.groupBy(highestFirst, heightOf)
  const top = Math.max(...storeys.keys())
  const place = new Map(
    [...storeys].flatMap(([height, side]) =>
      side.map(
        (room, at) => [room, { x: acrossOf(at, side.length, height), y: STEP * (top - height) + TALL }] as const,
      ),
    ),
  )
  const reach = (room: string): string[] => imports.get(room)!.flatMap((below) => [below, ...reach(below)])
  const lines = rooms.flatMap((room) => {
    const through = new Set(imports.get(room)!.flatMap(reach))
    const [from, direct] = [place.get(room)!, imports.get(room)!.filter((below) => !through.has(below))]
    return direct.map((below) => {
      const to = place.get(below)!
      return `<line x1="${from.x}" y1="${from.y + TALL / 2}" x2="${to.x}" y2="${to.y - TALL / 2}"/>`
    })
  })
  const boxes = highestFirst.map((room) => {
    const { x, y } = place.get(room)!
    const box = `<rect x="${x - BOX / 2}" y="${y - TALL / 2}" width="${BOX}" height="${TALL}" rx="5"/>`
    return `${box}<text x="${x}" y="${y + 5}">${room}</text>`
  })
  const height = STEP * top + 2 * TALL
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">`,
    '<title>The rooms of src: a line leads to a room below that is imported</title>',
    '<style>line{stroke:#888}rect{fill:#fff;stroke:#444}text{font:14px sans-serif;text-anchor:middle}</style>',
    ...lines,
    ...boxes,
    '</svg>\n',
  ].join('\n')
}

if (import.meta.main) {
  const file = join(docs, 'architecture.md')
  writeFileSync(file, withRooms(readFileSync(file, 'utf8')))
  writeFileSync(join(docs, 'rooms.svg'), drawing())
}
