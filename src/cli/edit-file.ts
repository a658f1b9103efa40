import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ENVIRONMENT } from '../base/config.ts'
import { replaceConfig } from '../base/config-edit.ts'
import { configText } from '../base/config-file.ts'
import { AppError, messageOf } from '../base/errors.ts'
import { terminal } from './terminal.ts'

/**
 * Opens a settings file in $VISUAL, $EDITOR or vi. What comes back is checked before it takes the file's place; a text
 * that is refused is kept, and the next time the work goes on with it, unless the file has changed.
 * @param check throws when the text is refused; `draft` is where it lies
 * @returns whether the file is another now
 */
export async function editFile(file: string, check: (text: string, draft: string) => Promise<void>): Promise<boolean> {
  const draft = join(dirname(file), `.${basename(file)}.draft`)
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
  await check(text, draft)
  if (!(await replaceConfig(file, before, text)))
    throw new AppError(`somebody else has changed ${file} meanwhile`, { hint: `your text is in ${draft}` })
  drop()
  return text !== before
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
