import { globSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORMATS } from '../../src/importers/formats.ts'
import { changeIndex, collection07, collection09 } from '../support/archivebox.ts'
import { noBrowser } from '../support/browser.ts'
import { EXPORTS } from '../support/exports.ts'
import { type Call, WITH_BROWSER } from '../support/program.ts'
import { startSite } from '../support/site.ts'
import { PIECES } from './adversarial.ts'
import type { Chance } from './chance.ts'
import { tooSlow } from './cost.ts'
import type { House } from './house.ts'
import { PARSERS } from './parsers.ts'
import { siteBy } from './site.ts'

/** One round: what was done, in a few words, and what went wrong. */
export interface Round {
  readonly what: string
  readonly broken: readonly string[]
}

/** The plugins that need no browser. */
const PLUGINS =
  'staticfile,html,headers,title,favicon,htmltotext,seo,exif,pdftext,parse_html_urls,parse_rss_urls,parse_txt_urls,' +
  'parse_jsonl_urls,readability,markdown,hashes'
/** Those that do, for fewer pages. */
const CAPTURES = `chrome,singlefile,dom,warc,consolelog,${PLUGINS}`
const COMMAND_MS = 180_000

/** What a command may end with, whatever it was given: done, refused, or done in part; and how it says so. */
async function fair(house: House, args: readonly string[], more: Pick<Call, 'input' | 'env'> = {}): Promise<string[]> {
  const call = { deadlineMs: COMMAND_MS, ...more }
  const { code, stderr } = await house.home.run(args, call)
  // 1: some of it could not be taken, and that is named.
  const isFair = [0, 2, 10].includes(code ?? -1) || (code === 1 && stderr.trim() !== '')
  const isClear = !/^\s+at .+:\d+/m.test(stderr) && !/TypeError|RangeError|is not a function|undefined \(/.test(stderr)
  return isFair && isClear ? [] : [`${args.join(' ').slice(0, 200)}: exit code ${code}: ${stderr.slice(-400)}`]
}

const cannotBeWord = (text: string) => text.replaceAll('\0', '').toWellFormed()
/** Other tags are refused, and then nothing is crawled. */
const tagOf = (name: string) =>
  name
    .replaceAll(/\p{Cc}/gu, '')
    .slice(0, 100)
    .toWellFormed() || 'x'

/** A site from the seed is crawled, by a visitor who is logged in or not. */
export async function crawlRound(chance: Chance, house: House): Promise<Round> {
  const site = await startSite(siteBy(chance))
  try {
    await house.login(site.url)
    const isCaptured = noBrowser === '' && chance.onceIn(3)
    const env = isCaptured ? { ...WITH_BROWSER, CHROME_SETTLE_TIMEOUT: '2' } : {}
    const most = isCaptured ? ['--max-urls', '12', '--plugins', CAPTURES] : ['--max-urls', '80', '--plugins', PLUGINS]
    const persona = chance.onceIn(2) ? ['--persona', 'known'] : []
    const words = ['--tag', tagOf(chance.name()), '--label', cannotBeWord(chance.text(200))]
    const args = ['--again', '--depth', '1', '-c', 'TIMEOUT=20', ...most, ...persona, ...words, `${site.url}/`]
    const broken = await fair(house, ['add', ...args], { env })
    broken.push(...(await fair(house, ['run', '--exit-on-idle'], { env })))
    const how = `${isCaptured ? ' in a browser' : ''}${persona.length > 0 ? ' of somebody logged in' : ''}`
    return { what: `a crawl${how}`, broken }
  } finally {
    await site.close()
  }
}

/** A list as services export them, damaged; nothing of it is asked for. */
export async function listRound(chance: Chance, house: House): Promise<Round> {
  const name = chance.of(Object.keys(EXPORTS))
  const text = chance.damaged(chance.onceIn(4) ? chance.text(100_000) : EXPORTS[name]!.list)
  const file = join(house.home.dataDir, 'list')
  writeFileSync(file, text)
  const format = chance.onceIn(3) ? ['--parser', chance.of(FORMATS)] : []
  return { what: `a list (${name})`, broken: await fair(house, ['add', '--index-only', '--file', file, ...format]) }
}

/** Records of all kinds, with keys and values that mean something elsewhere, through a pipe. */
export async function recordsRound(chance: Chance, house: House): Promise<Round> {
  const value = (): unknown =>
    chance.of([
      chance.name(),
      chance.text(300),
      null,
      1e21,
      -1,
      true,
      [chance.name()],
      { [chance.name()]: chance.name() },
    ])
  const record = () => {
    const type = chance.of(['Snapshot', 'Crawl', 'ArchiveResult', 'Tag', 'Binary', 'Process', chance.name()])
    const keys = chance.some(['title', 'tags', 'settings', 'label', 'max_depth', 'output_dir', 'id', chance.name()], 4)
    const known = { type, url: `http://127.0.0.1:1/${encodeURIComponent(cannotBeWord(chance.name()))}` }
    return JSON.stringify({ ...known, ...Object.fromEntries(keys.map((key) => [key, value()])) })
  }
  const lines = Array.from({ length: 1 + chance.below(6) }, record)
  const text = chance.onceIn(4) ? chance.damaged(lines.join('\n')) : lines.join('\n')
  const verb = chance.of([
    ['snapshot', 'create', '-'],
    ['crawl', 'create', '-'],
    ['add', '--index-only'],
    ['tag', 'create', '-'],
  ])
  const broken = await fair(house, verb, { input: text })
  // What was accepted has an end; nothing answers at that port.
  broken.push(...(await fair(house, ['run', '--exit-on-idle'])))
  return { what: `records for ${verb.join(' ')}`, broken }
}

/** A collection of ArchiveBox whose folders and rows name others. */
export async function collectionRound(chance: Chance, house: House): Promise<Round> {
  const folder = join(house.home.dataDir, '..', 'beside', 'collection')
  const make = chance.of([collection07, collection09])
  mkdirSync(folder)
  make(folder)
  const name = cannotBeWord(chance.name()).replaceAll('/', '_').slice(0, 60)
  const inside = join(folder, 'archive', '1500000000.0')
  try {
    if (make === collection07 && !/^\.{0,2}$/.test(name))
      renameSync(join(inside, 'singlefile.html'), join(inside, name))
  } catch {
    // A name that no file system takes.
  }
  // The house has private files beside the collection (House).
  const outside = chance.of(['../..', '../../private.txt', '../../../user', '1500000000.0/../../../user', '/etc', name])
  const own = globSync('archive/**/*', { cwd: folder, withFileTypes: true }).filter((entry) => entry.isDirectory())
  const place = chance.of(own)
  symlinkSync(
    `${chance.of(['../', '../../', '../../../'])}../private.txt`,
    join(place.parentPath, place.name, 'linked'),
  )
  // Behind it, for what is looked for in there follows links.
  if (chance.onceIn(2))
    symlinkSync(outside, join(folder, 'archive', chance.of(['1530000000.0.pdf', 'media', '1', 'x'])))
  if (chance.onceIn(2)) {
    const path = outside.replaceAll("'", '').replaceAll('\0', '')
    changeIndex(folder, `update core_snapshot set timestamp = '${path}' where rowid = ${1 + chance.below(4)}`)
    if (make === collection09) changeIndex(folder, `update auth_user set username = '${path}'`)
  }
  const link = chance.onceIn(3) ? ['--link'] : []
  const broken = await fair(house, ['add', '--from-archivebox', folder, ...link])
  // What was not archived there is queued: nobody is to be asked for it.
  const queued = await house.home.query<{ id: string }>(`select id from crawl where status <> 'sealed'`)
  if (queued.length > 0) broken.push(...(await fair(house, ['crawl', 'cancel', ...queued.map(({ id }) => id)])))
  return { what: `a collection (${make.name})`, broken }
}

/** A parser against a piece of text, again and again. */
export async function parserRound(chance: Chance): Promise<Round> {
  const parser = chance.of(PARSERS)
  const piece = chance.of(PIECES) + (chance.onceIn(2) ? chance.of(PIECES) : '')
  const why = await tooSlow(parser, piece, chance.of(parser.around))
  return { what: `${parser.name} on ${JSON.stringify(piece)}`, broken: why === undefined ? [] : [why] }
}
