import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENVIRONMENT } from '../../base/config.ts'
import { replaceConfig } from '../../base/config-edit.ts'
import { CONFIG_FILE, configIn, configText } from '../../base/config-file.ts'
import { openDataDir } from '../../base/data-dir.ts'
import { AppError, messageOf, UsageError } from '../../base/errors.ts'
import { Problems } from '../problems.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/**
 * `config edit`: opens archivebox.toml in $VISUAL, $EDITOR or vi. What comes back is checked before it takes the file's
 * place; a text that is refused is kept, and the next `config edit` goes on with it, unless the file has changed.
 */
export async function configEdit(asked: Asked): Promise<void> {
  const dataDir = openDataDir(asked.dataDir, 'never')
  const file = join(dataDir, CONFIG_FILE)
  const draft = join(dataDir, `.${CONFIG_FILE}.draft`)
  const origin = `${draft}.origin` // The hash of the text that the draft began with.
  const before = configText(file) ?? ''
  const isNew = !existsSync(draft)
  if (isNew) {
    writeFileSync(origin, hashOf(before))
    writeFileSync(draft, before, { mode: 0o600 })
  } else if (configText(origin) !== hashOf(before))
    throw new AppError(`${file} was changed since a text of yours was refused`, {
      hint: `take what you need of it from ${draft}, and delete that`,
    })
  else terminal.say('this goes on with the text that was refused')
  const drop = () => {
    for (const made of [draft, origin]) rmSync(made, { force: true })
  }
  try {
    edit(draft)
  } catch (error) {
    if (isNew) drop()
    throw error
  }
  const text = readFileSync(draft, 'utf8')
  await check(asked, text, draft)
  if (!(await replaceConfig(dataDir, before, text)))
    throw new AppError(`somebody else has changed ${file} meanwhile`, { hint: `your text is in ${draft}` })
  drop()
  terminal.say(text === before ? 'nothing was changed' : 'changed; a runner takes it up when it starts')
}

const hashOf = (text: string) => hash('sha256', text)

function edit(draft: string): void {
  const editor = ENVIRONMENT['VISUAL'] || ENVIRONMENT['EDITOR'] || 'vi'
  // By the shell, as git does: an editor may have arguments of its own.
  const { status, signal, error } = spawnSync('/bin/sh', ['-c', `${editor} "$@"`, editor, draft], { stdio: 'inherit' })
  if (error || status !== 0) {
    const why = error ? messageOf(error) : (signal ?? `exit code ${status}`)
    throw new AppError(`the editor ${editor} failed: ${why}; nothing was changed`, { hint: 'set EDITOR to another' })
  }
}

async function check({ known }: Asked, text: string, draft: string): Promise<void> {
  const problems = new Problems()
  const hint = `${CONFIG_FILE} is as it was; archivebox-ts config edit goes on with your text`
  const settings = await configIn(text, draft).catch((error: unknown) => {
    throw new UsageError(messageOf(error), hint)
  })
  for (const [name, given] of Object.entries(settings)) {
    const why = known.refusal(name, given) ?? (known.meantBy(name) && known.refusalAsUnknown(name))
    if (why !== undefined) problems.add(why, hint)
  }
  problems.refuse()
}
