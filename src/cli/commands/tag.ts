import { checkTag } from '../../app/records/tag-pages.ts'
import { oneLine } from '../../base/clean.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { closest } from '../../base/near-miss.ts'
import type { Home } from '../../db/home.ts'
import { deleteTags, listTags, mergeTags, renameTag, type Tag } from '../../db/tags.ts'
import { reconcileCancelled } from '../../workers/repair/reconcile-work.ts'
import { many } from '../format.ts'
import { asProcess, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import type { Column } from '../screen/table.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `tag list` */
export async function tagList(options: GlobalOptions, verb: PrintOptions): Promise<void> {
  const printer = printerOf(options, { columns: COLUMNS, record: tagRecord, idField: 'name' }, verb)
  await withHome(options, async ({ db }) =>
    printer.list(await listTags(db), 'no page has a tag; add --tag gives them some'),
  )
}

const tagRecord = (tag: Tag) => ({ type: 'Tag', ...tag })

const COLUMNS: readonly Column<Tag>[] = [
  { name: 'pages', value: ({ pages }) => String(pages), right: true },
  { name: 'tag', value: ({ name }) => oneLine(name), cut: 'end' },
]

/** `tag rename` */
export async function tagRename(options: GlobalOptions, name: string, newName: string): Promise<void> {
  checkTag(newName)
  await changing(options, async (home) => {
    const [tag] = await tagsNamed(home, [name])
    if ((await listTags(home.db, [newName])).length > 0)
      throw new UsageError(
        `there is a tag "${newName}" already`,
        `archivebox-ts tag merge ${name} ${newName} makes one of both`,
      )
    await renameTag(home.db, tag!, newName)
    return [newName]
  })
}

/** `tag merge` */
export async function tagMerge(options: GlobalOptions, names: readonly string[]): Promise<void> {
  const [into, ...from] = [...new Set(names.toReversed())]
  if (from.length === 0) throw new UsageError('tag merge takes two tags at least: the last one is what they become')
  await changing(options, async (home) => {
    const [last, ...others] = await tagsNamed(home, [into!, ...from])
    await mergeTags(home.db, others, last!)
    return [into!]
  })
}

/** `tag delete` */
export async function tagDelete(
  options: GlobalOptions,
  names: readonly string[],
  { yes }: { yes?: boolean },
): Promise<void> {
  await changing(options, async (home) => {
    const tags = await tagsNamed(home, [...new Set(names)])
    const what = tags.map(({ name, pages }) => `${name} from ${many(pages, 'page')}`).join(', ')
    if (!yes) throw new AppError(`nothing was changed: this would take ${what}`, { hint: '--yes does it' })
    await deleteTags(home.db, tags)
    terminal.say(`took ${what}`)
    return []
  })
}

/** Changes tags, then the pages on disk that show them. A kill in between leaves those to the next runner. */
async function changing(options: GlobalOptions, work: (home: Home) => Promise<readonly string[]>): Promise<void> {
  await withHome(options, async (home) => {
    await asProcess(home, 'cli', async () => {
      const after = await work(home)
      while (await reconcileCancelled(home));
      for (const tag of await listTags(home.db, after)) {
        if (wantsJson(options)) printRecord(tagRecord(tag))
        else terminal.say(`${tag.name}: ${many(tag.pages, 'page')}`)
      }
    })
  })
}

/** The tags with these names, in their order. Throws UsageError for one that does not exist. */
async function tagsNamed({ db }: Home, names: readonly string[]): Promise<Tag[]> {
  const found = await listTags(db, names)
  const missing = names.filter((name) => found.every((tag) => tag.name !== name))
  if (missing.length === 0) return names.map((name) => found.find((tag) => tag.name === name)!)
  const all = (await listTags(db)).map(({ name }) => name)
  const meant = closest(missing[0]!, all)
  throw new UsageError(
    `there is no tag "${missing[0]}"`,
    meant ? `did you mean ${meant}?` : 'archivebox-ts tag list shows them',
  )
}
