import { count } from '../../base/env-settings.ts'
import { writeWhole } from '../../base/whole-file.ts'
import { parseContentType } from '../../browse/http/content-type.ts'
import type { HookModule } from '../../hooks/contract.ts'
import { snapshotDepth } from '../../hooks/result-record.ts'
import type { Entry } from '../../importers/entry.ts'
import type { ServedList } from '../../importers/served-list.ts'
import { defineHook, noResults, succeeded } from './hook.ts'
import { servedFile } from './served-file.ts'
import { pageUrl, siblingHeaders } from './siblings.ts'

const DEFAULT_MAX_URLS = 50_000

interface ListHook {
  readonly plugin: string
  /** The setting that limits the number of links. */
  readonly most: string
  /** Whether the plugin reads files of this kind. @param mime from the file's server; '' when unknown */
  isOurs(file: ServedList & { readonly mime: string }): boolean
}

/**
 * Makes the hook of a plugin that finds the links in files of one kind (feeds, bookmarks, texts), as snapshots one
 * level deeper.
 */
export function defineListHook(meta: ImportMeta, { plugin, most, isOurs }: ListHook): HookModule {
  return defineHook(meta, {
    plugin,
    async run(context) {
      const file = servedFile(context)
      if ('status' in file) return file
      const { linksIn, listedIn } = await import('../../importers/served-list.ts')
      const list = await listedIn(file.head)
      const { mime } = parseContentType(String(siblingHeaders(context)?.headers['content-type'] ?? ''))
      if (!list || !isOurs({ ...list, mime })) return noResults('0 URLs parsed')
      const max = count(context.env, most, DEFAULT_MAX_URLS)
      const depth = snapshotDepth(context.env) + 1
      const records: object[] = []
      let broken = ''
      for await (const link of linksIn(file.path, list.format, pageUrl(context), context.signal)) {
        if ('broken' in link) broken = `; ${link.broken}`
        else records.push({ type: 'Snapshot', url: link.url, plugin, depth, ...detailsOf(link) })
        if (records.length >= max) break
      }
      if (records.length === 0) return noResults(`0 URLs parsed${broken}`)
      writeWhole(context.outputDir, 'urls.jsonl', records.map((record) => `${JSON.stringify(record)}\n`).join(''))
      for (const record of records) context.emit(record)
      return succeeded(`${records.length} URLs parsed${records.length === max ? ` (${most})` : broken}`)
    },
  })
}

/** Uses upstream's names. */
function detailsOf({ title, tags = [], addedAt }: Entry): object {
  return {
    ...(title ? { title } : {}),
    ...(tags.length > 0 ? { tags: tags.join(',') } : {}),
    ...(addedAt ? { bookmarked_at: addedAt.toISOString() } : {}),
  }
}
