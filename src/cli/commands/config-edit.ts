import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
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
 * place; a text that is refused is kept, and the next `config edit` goes on with it.
 */
export async function configEdit(asked: Asked): Promise<void> {
  const dataDir = openDataDir(asked.dataDir, 'never')
  const file = join(dataDir, CONFIG_FILE)
  const draft = join(dataDir, `.${CONFIG_FILE}.draft`)
  const before = configText(file) ?? ''
  if (!existsSync(draft)) copyFileSync(file, draft)
  else if (statSync(file).mtimeMs > statSync(draft).mtimeMs)
    throw new AppError(`${file} was changed since a text of yours was refused`, {
      hint: `take what you need of it from ${draft}, and delete that`,
    })
  else terminal.say('this goes on with the text that was refused')
  edit(draft)
  const text = readFileSync(draft, 'utf8')
  await check(asked, text, draft)
  if (!(await replaceConfig(dataDir, before, text)))
    throw new AppError(`somebody else has changed ${file} meanwhile`, { hint: `your text is in ${draft}` })
  rmSync(draft, { force: true })
  terminal.say(text === before ? 'nothing was changed' : 'changed; a runner takes it up when it starts')
}

function edit(draft: string): void {
  const editor = ENVIRONMENT['VISUAL'] || ENVIRONMENT['EDITOR'] || 'vi'
  // By the shell, as git does: an editor may have arguments of its own.
  const { status, signal, error } = spawnSync('/bin/sh', ['-c', `${editor} "$@"`, editor, draft], { stdio: 'inherit' })
  if (error || status !== 0) {
    rmSync(draft, { force: true })
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
