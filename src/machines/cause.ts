/**
 * The causes in words for users, and the ways in which hooks, programs and systems report them. The first match counts.
 */
const CAUSES: readonly (readonly [RegExp, string | ((found: RegExpExecArray) => string)])[] = [
  [/^given up: (\d+) attempts/, ([, times]) => `gave up: its worker died ${times} times`],
  [/robots\.txt/i, 'robots.txt'],
  [/^more than .* \(MAX_\w+_PER_HOST\)$/, ([line]) => line],
  [/larger than ([\d.]+ ?(?:bytes|[kMG]B))/i, ([, size]) => `larger than ${size}`],
  [/timed out after ([\d.]+ ?m?s)\b/i, ([, time]) => `timed out after ${time}`],
  [/\b(?:HTTP(?:\/[\d.]+)?|status(?: code)?|ERROR)[ :=]+([45]\d\d)\b/i, ([, code]) => `HTTP ${code}`],
  [/does not answer in HTTP/i, 'no HTTP answer'],
  [/damaged compressed body/i, 'damaged compression'],
  [/connection refused|\bECONNREFUSED\b|ERR_CONNECTION_REFUSED/i, 'connection refused'],
  [/connection (?:was )?reset|connection closed|socket hang up|\bECONNRESET\b|\bEPIPE\b/i, 'connection reset'],
  [/ERR_(?:CONNECTION_(?:RESET|CLOSED)|EMPTY_RESPONSE)|no data received/i, 'connection reset'],
  [
    /host not found|\bENOTFOUND\b|ERR_NAME_NOT_RESOLVED|unable to resolve host|name or service not known/i,
    'host not found',
  ],
  [/name lookup failed|\bEAI_AGAIN\b|temporary failure in name resolution/i, 'name lookup failed'],
  [
    /connection to \S+ timed out|\bETIMEDOUT\b|ERR_(?:CONNECTION_)?TIMED_OUT|connection timed out/i,
    'connection timed out',
  ],
  [/host unreachable|\bEHOSTUNREACH\b|no route to host|ERR_ADDRESS_UNREACHABLE/i, 'host unreachable'],
  [/network (?:is )?unreachable|\bENETUNREACH\b|ERR_INTERNET_DISCONNECTED/i, 'network unreachable'],
  [/redirect loop|more than \d+ redirects|redirections exceeded|ERR_TOO_MANY_REDIRECTS/i, 'too many redirects'],
  [/certificate has expired|CERT_HAS_EXPIRED|ERR_CERT_DATE_INVALID/i, 'certificate expired'],
  [/does not match certificate|ERR_CERT_COMMON_NAME_INVALID|HOSTNAME_MISMATCH/i, 'certificate of another host'],
  [/self.signed|unable to (?:verify|get).*certificate|ERR_CERT_AUTHORITY_INVALID/i, 'certificate not trusted'],
  [/TLS problem|SSL (?:routines|error)|ERR_SSL|\bEPROTO\b|ERR_CERT|certificate/i, 'TLS failed'],
  [/no space left|\bENOSPC\b/i, 'disk full'],
]

const LONGEST = 200

/**
 * The cause of a failure in one short line, from the hook's output: the same for all hooks that met the same failure.
 * An unknown failure keeps the first line of its output, after the plugin's name.
 */
export function causeOf(plugin: string, output: string): string {
  for (const [pattern, cause] of CAUSES) {
    const found = pattern.exec(output)
    if (found) return typeof cause === 'string' ? cause : cause(found)
  }
  const line = output.split('\n', 1)[0]!.trim() || 'failed without a word'
  return (line.startsWith(`${plugin}:`) ? line : `${plugin}: ${line}`).slice(0, LONGEST)
}

const UNREACHABLE =
  /^(?:HTTP \d|no HTTP answer|connection |host |name lookup |network |certificate |TLS |too many redirects)/
/** The page must not be requested. */
const FORBIDDEN = /^robots\.txt$|_PER_HOST\)$/

/** Whether this cause is about reaching or requesting the page, so that every hook that requests it meets it. */
export const isUnreachable = (cause: string): boolean => UNREACHABLE.test(cause) || FORBIDDEN.test(cause)

/** The output of a hook whose input from another plugin is missing. */
export const needs = (plugin: string) => `needs ${plugin}, which failed`
/** The plugin whose output was missing, if that is all a hook reports. */
export const neededBy = (output: string) => /^needs (\S+), which failed$/.exec(output)?.[1]
/** The output of a hook that met the same failure as another before it. */
export const alike = (cause: string, plugin: string) => `${cause}, as ${plugin} found`

const OLD_WORDS = /^no (?:headers\/headers\.json|html\/output\.html) to read$/

/** Whether this output is a mere consequence of another hook's failure. Knows the wording of earlier versions, too. */
export function isConsequence(output: string): boolean {
  return /^needs \S+, which /.test(output) || /, as \S+ found$/.test(output) || OLD_WORDS.test(output)
}
