import { tagsIn } from '../../app/records/names.ts'
import { tagPages } from '../../app/records/tag-pages.ts'
import { UsageError } from '../../base/errors.ts'
import { many } from '../format.ts'
import type { GlobalOptions } from '../options.ts'
import { printChanged, withChosen } from '../records/chosen.ts'
import { createSnapshots } from '../records/create.ts'
import { SNAPSHOT } from '../records/kinds.ts'
import { steeringOf, verbsOf } from '../records/verbs.ts'
import { terminal } from '../terminal.ts'

/** The verbs of `snapshot`. Its crawl goes on with the others. */
export const snapshotVerbs = {
  ...verbsOf(SNAPSHOT),
  ...steeringOf(SNAPSHOT, 'snapshot'),
  create: createSnapshots,
  tag: tagSnapshots,
}

export interface TagOptions {
  readonly add?: string
  readonly remove?: string
}

/** `snapshot tag` */
async function tagSnapshots(options: GlobalOptions, args: readonly string[], verb: TagOptions): Promise<void> {
  const change = { add: tagsIn(verb.add), remove: tagsIn(verb.remove) }
  const both = change.add.find((tag) => change.remove.includes(tag))
  if (both !== undefined) throw new UsageError(`${both} cannot be added and removed at once`)
  if (change.add.length + change.remove.length === 0)
    throw new UsageError('no tag given', '--add NAMES adds tags, --remove NAMES takes them away')
  await withChosen(options, SNAPSHOT, args, async ({ open, ids }) => {
    await tagPages(open, { ids, ...change })
    const signs = [...change.add.map((tag) => `+${tag}`), ...change.remove.map((tag) => `-${tag}`)]
    terminal.say(`${signs.join(' ')}: ${many(ids.length, 'page')}`)
    await printChanged(options, open, SNAPSHOT, ids)
  })
}
