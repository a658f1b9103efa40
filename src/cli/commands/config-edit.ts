import { join } from 'node:path'
import { CONFIG_FILE, configIn } from '../../base/config-file.ts'
import { openDataDir } from '../../base/data-dir.ts'
import { messageOf, UsageError } from '../../base/errors.ts'
import { Problems } from '../../base/problems.ts'
import { editFile } from '../edit-file.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/** `config edit` */
export async function configEdit(asked: Asked): Promise<void> {
  const file = join(openDataDir(asked.dataDir, 'never'), CONFIG_FILE)
  const changed = await editFile(file, async (text, draft) => await check(asked, text, draft))
  terminal.say(changed ? 'changed; takes effect when a runner starts' : 'nothing was changed')
}

async function check({ known }: Asked, text: string, draft: string): Promise<void> {
  const problems = new Problems()
  const hint = `${CONFIG_FILE} is unchanged; archivebox-ts config edit continues with your text`
  const settings = await configIn(text, draft).catch((error: unknown) => {
    throw new UsageError(messageOf(error), hint)
  })
  for (const [name, given] of Object.entries(settings)) {
    const why = known.refusal(name, given) ?? (known.meantBy(name) && known.refusalAsUnknown(name))
    if (why !== undefined) problems.add(why, hint)
  }
  problems.refuse()
}
