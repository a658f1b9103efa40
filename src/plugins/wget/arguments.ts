import { flag, list, type SizeLimit, text } from '../../base/env-settings.ts'
import { hasUrlSecrets } from '../../base/url-secrets.ts'
import { userAgent } from '../../base/user-agent.ts'
import type { HookContext } from '../../hooks/contract.ts'

/** ArchiveBox's choice: the page and its requisites, also from other hosts, with links that work on disk. */
const DEFAULT_ARGUMENTS = [
  '--no-verbose',
  '--adjust-extension',
  '--convert-links',
  '--force-directories',
  '--backup-converted',
  '--span-hosts',
  '--no-parent',
  '--page-requisites',
  '--restrict-file-names=windows',
  '--tries=2',
  '-e',
  'robots=off',
]

/**
 * The arguments of wget for one page; `seconds` is the time of the whole hook. Later options win, so WGET_ARGS_EXTRA
 * takes precedence. One silent host must not use up the page's time: each wait gets a quarter of it.
 */
export function wgetArguments(
  context: Pick<HookContext, 'url' | 'env'>,
  seconds: number,
  limit: SizeLimit,
  hasCookies: boolean,
): string[] {
  const { env } = context
  const language = text(env, 'ACCEPT_LANGUAGE')
  const verifyTls = flag(env, 'WGET_CHECK_SSL_VALIDITY', flag(env, 'CHECK_SSL_VALIDITY', true))
  return [
    ...list(env, 'WGET_ARGS', DEFAULT_ARGUMENTS),
    `--timeout=${Math.max(1, Math.ceil(seconds / 4))}`,
    `--quota=${limit.bytes}`,
    `--user-agent=${text(env, 'WGET_USER_AGENT') ?? userAgent(env)}`,
    // With this, the log shows whether the answer was HTTP; wget saves anything else, too.
    '--server-response',
    // Redirects lead to HTTP only: nobody listens there.
    ...['-e', 'ftp_proxy=http://127.0.0.1:1/'],
    // It would be stored in the user's home.
    '--no-hsts',
    // It would tell all other hosts which page they are requested from.
    ...(hasUrlSecrets(context.url) ? ['--header=Referer: '] : []),
    ...(language === undefined ? [] : [`--header=Accept-Language: ${language}`]),
    // On stdin, so that they are in no file and in no list of processes. The WARC has the requests with them.
    ...(hasCookies ? ['--load-cookies=/dev/stdin'] : []),
    ...(flag(env, 'WGET_WARC_ENABLED', true) && !hasCookies
      ? [`--warc-file=warc/${Math.floor(Date.now() / 1000)}`]
      : []),
    ...(verifyTls ? [] : ['--no-check-certificate']),
    ...list(env, 'WGET_ARGS_EXTRA', []),
    '--',
    context.url,
  ]
}
