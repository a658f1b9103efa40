import type { Archive } from '../../app/archive.ts'
import { checkTag } from '../../app/records/names.ts'
import { deleteTags, mergeTags, renameTag, tagsNamed } from '../../app/records/tags.ts'
import { oneLine } from '../../base/clean.ts'
import { AppError, UsageError } from '../../base/errors.ts'
import { tagRecord } from '../../db/records.ts'
import { listTags, type Tag } from '../../db/tags.ts'
import { many } from '../format.ts'
import { asProcess, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import type { Column } from '../screen/table.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

/** `tag list` */
export async function tagList(options: GlobalOptions, verb: PrintOptions): Promise<void> {
  const printer = printerOf(options, { columns: COLUMNS, record: tagRecord, idField: 'name' }, verb)
  await withHome(options, async ({ db }) => printer.list(await listTags(db), 'no page has a tag; add --tag sets tags'))
}

const COLUMNS: readonly Column<Tag>[] = [
  { name: 'pages', value: ({ pages }) => String(pages), right: true },
  { name: 'tag', value: ({ name }) => oneLine(name), cut: 'end' },
]

/** `tag rename` */
export async function tagRename(options: GlobalOptions, name: string, newName: string): Promise<void> {
  checkTag(newName)
  await changing(options, (open) => renameTag(open, name, newName))
}

/** `tag merge` */
export async function tagMerge(options: GlobalOptions, names: readonly string[]): Promise<void> {
  const [into, ...from] = [...new Set(names.toReversed())]
  if (from.length === 0) throw new UsageError('tag merge takes two tags or more; the last one gets all pages')
  await changing(options, (open) => mergeTags(open, from, into!))
}

/** `tag delete` */
export async function tagDelete(
  options: GlobalOptions,
  names: readonly string[],
  { yes }: { yes?: boolean },
): Promise<void> {
  await changing(options, async (open) => {
    const tags = await tagsNamed(open.home.db, [...new Set(names)])
    const what = tags.map(({ name, pages }) => `${name} from ${many(pages, 'page')}`).join(', ')
    if (!yes) throw new AppError(`nothing was changed: this would remove ${what}`, { hint: '--yes does it' })
    await deleteTags(open, tags, { tell: () => terminal.say(`removed ${what}`) })
    return []
  })
}

async function changing(options: GlobalOptions, work: (open: Archive) => Promise<readonly Tag[]>): Promise<void> {
  await withHome(options, async (home, open) => {
    await asProcess(home, 'cli', async () => {
      for (const tag of await work(open)) {
        if (wantsJson(options)) printRecord(tagRecord(tag))
        else terminal.say(`${tag.name}: ${many(tag.pages, 'page')}`)
      }
    })
  })
}
