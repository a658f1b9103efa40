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
 * Opens a settings file in $VISUAL, $EDITOR or vi. The result is checked before it replaces the file. Rejected text is
 * kept, and the next edit goes on with it, unless the file has changed.
 * @param check throws when the text is rejected; `draft` is the path of the text
 * @returns whether the file has changed
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
    throw new AppError(`${file} has changed since your text was rejected`, {
      hint: `copy what you need from ${draft}, then delete it`,
    })
  else terminal.say('continuing with the text that was rejected')
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
    throw new AppError(`${file} was changed by somebody else in the meantime`, { hint: `your text is in ${draft}` })
  drop()
  return text !== before
}

const hashOf = (text: string) => hash('sha256', text)

function edit(draft: string): void {
  const editor = ENVIRONMENT['VISUAL'] || ENVIRONMENT['EDITOR'] || 'vi'
  // Through the shell, as git does it: an editor may have arguments of its own.
  const { status, signal, error } = spawnSync('/bin/sh', ['-c', `${editor} "$@"`, editor, draft], { stdio: 'inherit' })
  if (error || status !== 0) {
    const why = error ? messageOf(error) : (signal ?? `exit code ${status}`)
    throw new AppError(`the editor ${editor} failed: ${why}; nothing was changed`, { hint: 'set another EDITOR' })
  }
}
