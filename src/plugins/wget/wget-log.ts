import type { ProgramExit } from '../base/run-program.ts'

/** The page's file: the first that wget reports as saved; undefined when it saved nothing. */
export function savedPage(log: string): string | undefined {
  return firstSaved(log)?.file
}

/** The first line with ` URL:` and a file at its end, and where that begins: on a line of its own, however long. */
function firstSaved(log: string): { readonly file: string; readonly at: number } | undefined {
  let at = 0
  for (const line of log.split('\n')) {
    const [, file] = /^([^"]+)"/.exec(line.slice(line.lastIndexOf(ARROW) + ARROW.length)) ?? []
    if (file !== undefined && line.includes(' URL:') && line.includes(ARROW)) return { file, at }
    at += line.length + 1
  }
  return undefined
}

const ARROW = ' -> "'

/** Whether there was an HTTP response before the page was saved. wget takes anything else for HTTP/0.9. */
export function isAnswered(log: string): boolean {
  return /^ *HTTP\/\d/m.test(log.slice(0, firstSaved(log)?.at))
}

/** Why there is no page, in one line. */
export function failureReason(exit: ProgramExit, url: string): string {
  const { host } = new URL(url)
  const error = /ERROR (\d{3}): ([^\n]*?)\.?$/m.exec(exit.log)
  if (error) return `HTTP ${error[1]} ${error[2]}`.trim()
  if (/^ *Location: ftp:/im.test(exit.log)) return 'redirected to an unsupported scheme: ftp:'
  if (exit.log.includes('Connection refused')) return `connection refused by ${host}`
  if (exit.log.includes('unable to resolve host address')) return `host not found: ${host}`
  if (exit.log.includes('redirections exceeded')) return 'more than 20 redirects'
  if (exit.log.includes('No data received')) return `connection closed by ${host} before it answered`
  // Indented lines are headers of answers.
  const lines = exit.log.split('\n').filter((line) => /^\S/.test(line))
  const last =
    lines
      .at(-1)
      ?.replace(/^wget: /, '')
      .trim() ?? ''
  const how = exit.signal ? `killed by ${exit.signal}` : `exit code ${exit.code}`
  return last === '' ? `wget: ${how}` : `${last} (wget: ${how})`
}

/** The log without the values of cookies that servers set. */
export function withoutCookies(log: string): string {
  return log.replace(/^([ \t]*Set-Cookie:[^=;\r\n]*)=[^;\r\n]*/gim, '$1=***')
}
