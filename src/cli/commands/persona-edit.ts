import { refusedOf, unknownPersona } from '../../app/personas/find.ts'
import { allPersonas } from '../../app/personas/record.ts'
import { messageOf, UsageError } from '../../base/errors.ts'
import { Problems } from '../../base/problems.ts'
import { PERSONA_FILE } from '../../browse/persona/files.ts'
import { settingsIn } from '../../browse/persona/persona.ts'
import { makePersona } from '../../browse/persona/write.ts'
import { editFile } from '../edit-file.ts'
import { personasOf } from '../persona/find.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/** `persona edit NAME`: works also when its file is broken. */
export async function personaEdit(asked: Asked, name: string): Promise<void> {
  const { personas } = personasOf(asked)
  if (!(await allPersonas(personas)).some((each) => each.name === name)) throw unknownPersona(personas, name)
  const { settings: file } = makePersona(personas, name)
  const changed = await editFile(file, async (text, draft) => await check(asked, text, draft))
  terminal.say(changed ? 'changed; applies to crawls added from now on' : 'nothing was changed')
}

async function check(asked: Asked, text: string, draft: string): Promise<void> {
  const problems = new Problems()
  const hint = `${PERSONA_FILE} is unchanged; the next persona edit continues with your text`
  const { settings } = await settingsIn(text, draft).catch((error: unknown) => {
    throw new UsageError(messageOf(error), hint)
  })
  for (const why of refusedOf(asked, settings)) problems.add(why, hint)
  problems.refuse()
}
