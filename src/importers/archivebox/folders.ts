/** The parts of the path of a snapshot's files. */
interface Placed {
  readonly id: string
  readonly url: string
  readonly timestamp: string
  readonly user: string | number | null | undefined
  readonly bookmarkedAt: Date
}

/** The folders that may have the files of a snapshot: by user, day and host since 0.9, by its timestamp before. */
export function foldersOf({ id, url, timestamp, user, bookmarkedAt }: Placed): string[] {
  const legacy = `archive/${timestamp}`
  if (user === null || user === undefined) return [legacy]
  const day = bookmarkedAt.toISOString().slice(0, 10).replaceAll('-', '')
  const above = `archive/users/${user}/snapshots/${day}/${hostOf(url)}`
  const hex = id.replaceAll('-', '')
  const dashed = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return [`${above}/${hex}`, `${above}/${dashed}`, legacy]
}

function hostOf(text: string): string {
  const url = URL.parse(text)
  if (!url) return 'unknown'
  if (url.protocol === 'file:') return 'localhost'
  if (!/^https?:$/.test(url.protocol)) return url.protocol.slice(0, -1)
  return url.port ? `${url.hostname}_${url.port}` : url.hostname
}

/** The plugins of files that were side by side before 0.9, by their names. */
const LEGACY: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'singlefile.html': 'singlefile',
    'output.pdf': 'pdf',
    'screenshot.png': 'screenshot',
    'output.html': 'dom',
    'headers.json': 'headers',
    'favicon.ico': 'favicon',
    'htmltotext.txt': 'htmltotext',
    'archive.org.txt': 'archivedotorg',
    readability: 'readability',
    mercury: 'mercury',
    warc: 'warc',
    git: 'git',
    media: 'media',
  }),
)

/**
 * Where an entry of a snapshot's folder goes: below the folder of its plugin. Undefined: it is ArchiveBox's own.
 * @param isLegacy of a folder from before 0.9
 */
export function placeOf(name: string, isFolder: boolean, isLegacy: boolean): string | undefined {
  if (/^\.|^index\.(?:html|json|jsonl)$|^(?:cmd|warc)\.sh$/.test(name)) return undefined
  if (!isLegacy) return isFolder ? name : undefined
  const plugin = LEGACY.get(name)
  if (plugin === undefined) return `wget/${name}`
  return isFolder ? plugin : `${plugin}/${name}`
}

/** The plugin name of an extractor. */
export function pluginOf(extractor: string): string {
  return extractor === 'archive_org' ? 'archivedotorg' : extractor.replaceAll(/[^\w-]/g, '_')
}
