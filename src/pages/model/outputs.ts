import { leadsOut } from '../../base/leads-out.ts'
import type { Group, Makes, Meanings } from '../../base/makes.ts'
import { own } from '../../base/own.ts'
import type { OutputFile, ResultStatus } from '../../db/tables.ts'

/** How a file is shown; `source`: a document, shown as text only; `file`: not at all. */
export type Shown = 'html' | 'source' | 'pdf' | 'image' | 'video' | 'audio' | 'text' | 'file'

/** One output of a page, by its main file. */
export interface Output {
  readonly plugin: string
  readonly group: Group
  /** Relative to the folder of the page. */
  readonly path: string
  readonly shown: Shown
  /** Bytes of all files of its plugin. */
  readonly size: number
  readonly files: number
  /** A small picture of it, relative to the folder of the page. */
  readonly thumbnail?: string
  /** Its HTML loads nothing from anywhere, and declares so. */
  readonly isClosed: boolean
  /** Whether it is the icon of the site. */
  readonly isIcon: boolean
  /** The hook that made it failed: this is what there was until then. */
  readonly isPart: boolean
}

interface Made {
  readonly plugin: string
  readonly status: ResultStatus
  /** The main file as the hook itself names it, if it is one. */
  readonly output: string
  readonly files: Readonly<Record<string, OutputFile>>
}

/** The output of all hooks of one plugin. */
interface Plugin extends Omit<Made, 'status'> {
  /** Files of hooks that failed. */
  readonly parts: readonly string[]
}

/** Main files of plugins that do not name one, the most telling first. */
const MAIN_FILES = ['singlefile.html', 'output.html', 'content.html', 'output.pdf', 'screenshot.png', 'title.txt']

const THUMBNAIL = 'thumbnail.webp'

/** The outputs of a page, group by group, the best of each first. */
export function outputsOf(results: readonly Made[], meanings: Meanings): Output[] {
  const byPlugin = new Map<string, Plugin>()
  for (const { plugin, status, output, files: all } of results) {
    // A foreign backup may name any file of ours, which would be packed into the page.
    const files = Object.fromEntries(Object.entries(all).filter(([file]) => !leadsOut(`${plugin}/${file}`)))
    if (Object.keys(files).length === 0) continue
    const before = byPlugin.get(plugin)
    byPlugin.set(plugin, {
      plugin,
      output: output || before?.output || '',
      files: { ...before?.files, ...files },
      parts: [...(before?.parts ?? []), ...(status === 'failed' ? Object.keys(files) : [])],
    })
  }
  const rank = ({ plugin }: Output) => meanings.of(plugin).rank ?? Number.MAX_SAFE_INTEGER
  return [...byPlugin.values()]
    .map((made) => outputOf(made, meanings.of(made.plugin)))
    .sort((a, b) => rank(a) - rank(b) || (a.plugin < b.plugin ? -1 : 1))
}

/** The output to begin with, preferably one that can be shown; undefined when nothing of the page was kept. */
export function bestOf<T extends Output>(outputs: readonly T[]): T | undefined {
  const copies = outputs.filter(({ group }) => group !== 'data')
  return copies.find(({ shown }) => shown !== 'file') ?? copies[0]
}

/** How many copies are shown by a picture; the others by their names. */
const MOST_CARDS = 6

/** The copies that people look for: the best of each kind, all pictures and media, and what replays. */
export function cardsOf<T extends Output>(outputs: readonly T[]): T[] {
  const isFirst = ({ group }: T, at: number) => outputs.findIndex((other) => other.group === group) === at
  const copies = outputs.filter(
    (output, at) =>
      output.group === 'picture' || output.group === 'media' || (output.group !== 'data' && isFirst(output, at)),
  )
  const replay = outputs.filter(isPackage)
  return [...copies.filter((output) => !isPackage(output)).slice(0, MOST_CARDS - replay.length), ...replay]
}

/** Is it a recording of the page in one file, which is replayed? */
export const isPackage = ({ path }: Pick<Output, 'path'>): boolean => /\.wacz$/i.test(path)

function outputOf({ plugin, output, files, parts }: Plugin, makes: Makes): Output {
  const entries = Object.entries(files).sort(([a], [b]) => (a < b ? -1 : 1))
  const paths = entries.map(([path]) => path)
  const said = output.startsWith(`${plugin}/`) ? output.slice(plugin.length + 1) : ''
  const main =
    [makes.mainFile ?? '', ...MAIN_FILES].find((name) => Object.hasOwn(files, name)) ??
    (Object.hasOwn(files, said) ? said : undefined) ??
    paths.find((path) => /(^|\/)index\.html?$/.test(path)) ??
    entries.find(([path, file]) => shownAs(path, file) !== 'file')?.[0] ??
    paths[0]!
  const shown = shownAs(main, own(files, main)!)
  return {
    plugin,
    group: makes.group ?? groupOf(shown, makes),
    isClosed: makes.isClosed,
    isIcon: makes.icon,
    path: `${plugin}/${main}`,
    shown,
    size: Object.values(files).reduce((sum, file) => sum + file.size, 0),
    files: paths.length,
    isPart: parts.includes(main),
    ...(Object.hasOwn(files, THUMBNAIL) && { thumbnail: `${plugin}/${THUMBNAIL}` }),
  }
}

/** The group of an output whose plugin does not declare one. */
function groupOf(shown: Shown, makes: Makes): Group {
  if (shown === 'video' || shown === 'audio') return 'media'
  if (shown === 'image' || shown === 'pdf') return 'picture'
  return shown === 'html' || makes.file ? 'page' : 'data'
}

/**
 * By its type, and by its name, which browsers go by for files on disk. If either makes it a document, it is shown as
 * nothing else: only a PDF is shown outside of a sandbox. XML may refer to styles, pictures and scripts anywhere: it is
 * shown as text.
 */
function shownAs(path: string, { mimetype }: OutputFile): Shown {
  const type = mimetype.split(';', 1)[0]!.trim().toLowerCase()
  if (/^(text\/html|application\/xhtml\+xml)$/.test(type) || /\.(?:[xps]?html?|xht|htc)$/i.test(path)) return 'html'
  const [, kind] = /^(image|video|audio)\/(?!tiff)/.exec(type) ?? []
  if (kind && !isXml(path)) return kind as Shown
  if (type === 'image/svg+xml' && /\.svgz?$/i.test(path)) return 'image'
  if (/[/+]xml$/.test(type) || isXml(path)) return 'source'
  if (type === 'application/pdf' && /\.pdf$/i.test(path)) return 'pdf'
  return /\.(txt|json|jsonl|md|csv|log|srt|vtt)$/i.test(path) ? 'text' : 'file'
}

const isXml = (path: string): boolean => /\.(?:xml|svgz?|rss|atom|rdf|xslt?|xsd|mml|xul|opml|kml|gpx|wsdl)$/i.test(path)
