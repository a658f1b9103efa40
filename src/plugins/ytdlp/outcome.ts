import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { ProgramExit } from '../base/run-program.ts'

const MEDIA = /\.(?:mp4|m4v|webm|mkv|mov|avi|flv|wmv|ts|3gp|ogv|mp3|m4a|aac|ogg|oga|opus|wav|flac|weba)$/i

/** The largest of the playable files; undefined: there is none. */
export function mainFile(folder: string, files: readonly string[]): string | undefined {
  const sized = files.filter((file) => MEDIA.test(file)).map((file) => ({ file, ...statSync(join(folder, file)) }))
  return sized.sort((a, b) => b.size - a.size)[0]?.file
}

/** How a run of yt-dlp went. */
export interface Outcome {
  /** In one line; undefined: it saved everything that it found. */
  readonly problem: string | undefined
  /** It found nothing that it can save. */
  readonly isNone: boolean
}

/** @param most the size limit and its setting, for users */
export function outcomeOf({ code, signal, log }: ProgramExit, most: string): Outcome {
  const errors = [...log.matchAll(/^ERROR: (.+)$/gm)].map(([, text]) => text!)
  if (/File is larger than max-filesize|File too large/.test(log))
    return { problem: `larger than ${most}`, isNone: false }
  if (/Requested format is not available/.test(log)) return { problem: `no format of at most ${most}`, isNone: false }
  const others = errors.filter(
    (text) => !/Unsupported URL|could be a direct video link|No video formats found/.test(text),
  )
  if (code === 0 || (others.length === 0 && errors.length > 0)) return { problem: undefined, isNone: true }
  const said = others[0]?.replace(/^\[[\w:+]+\] (?:[\w-]+: )?/, '').replace(/;? please report this issue.*$/i, '')
  return { problem: `yt-dlp: ${said ?? `ended with ${signal ?? `exit code ${code}`}`}`, isNone: false }
}
