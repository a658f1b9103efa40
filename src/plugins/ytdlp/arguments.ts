import { flag, list, type SizeLimit, text } from '../../base/env-settings.ts'
import { findProgram } from '../../base/find-program.ts'
import { userAgent } from '../../base/user-agent.ts'
import type { HookContext } from '../../hooks/contract.ts'

const DEFAULT_ARGUMENTS = [
  '--socket-timeout=10',
  '--retries=1',
  '--restrict-filenames',
  '--trim-filenames=160',
  '--write-description',
  '--write-info-json',
  '--write-thumbnail',
  '--write-subs',
  '--write-auto-subs',
  '--playlist-end=100',
  // With number and ID: of two with one title, the second would count as downloaded already.
  '--output=%(playlist_index&{}-|)s%(title).90s-[%(id).60s].%(ext)s',
]

/**
 * The arguments of yt-dlp for one page. It ignores the user's own settings, and stores nothing in the home folder.
 * Later options win, so YTDLP_ARGS_EXTRA takes precedence.
 * @param hasCookies it gets cookies on stdin, because it would write to a file of cookies
 */
export function ytdlpArguments(
  { url, env }: Pick<HookContext, 'url' | 'env'>,
  limit: SizeLimit,
  hasCookies: boolean,
): string[] {
  const ffmpeg = findProgram(text(env, 'FFMPEG_BINARY') ?? 'ffmpeg', env['PATH'])
  const verifyTls = flag(env, 'YTDLP_CHECK_SSL_VALIDITY', flag(env, 'CHECK_SSL_VALIDITY', true))
  const small = `[filesize<=?${limit.bytes}][filesize_approx<=?${limit.bytes}]`
  return [
    '--ignore-config',
    '--no-cache-dir',
    '--no-progress',
    '--no-colors',
    '--ignore-errors',
    ...list(env, 'YTDLP_ARGS', DEFAULT_ARGUMENTS),
    // Only ffmpeg can join picture and sound.
    `--format=${ffmpeg ? `(bv*+ba/b)${small}/b${small}` : `b${small}/bv*${small}/ba${small}`}`,
    `--max-filesize=${limit.bytes}`,
    `--user-agent=${text(env, 'YTDLP_USER_AGENT') ?? userAgent(env)}`,
    ...(ffmpeg ? [`--ffmpeg-location=${ffmpeg}`, '--convert-subs=srt'] : []),
    ...(verifyTls ? [] : ['--no-check-certificates']),
    ...(hasCookies ? ['--cookies=/dev/stdin'] : []),
    ...list(env, 'YTDLP_ARGS_EXTRA', []),
    '--',
    url,
  ]
}
