import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { asset } from '../../../base/package-root.ts'
import { HELD } from './policy.ts'

/** Our own scripts beside the files of ReplayWeb.page: that of the page, and the beginning of its worker. */
export function replayScripts(): { readonly page: string; readonly worker: string } {
  known ??= { page: read('replay.js'), worker: `const HELD = ${JSON.stringify(HELD)};\n${read('replay-worker.js')}` }
  return known
}
let known: ReturnType<typeof replayScripts> | undefined

const read = (name: string) => readFileSync(join(asset('pages', '../dist/pages'), name), 'utf8')
