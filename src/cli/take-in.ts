import { statSync } from 'node:fs'
import type { Intake } from '../app/add/intake.ts'
import { messageOf, UsageError } from '../base/errors.ts'
import type { UrlList } from '../base/url-list.ts'
import type { Format } from '../importers/formats.ts'
import { urlsInLine } from '../importers/text.ts'
import { sayMeanwhile } from './meanwhile.ts'

/** Where the URLs of a list come from, as typed. */
export interface SourceOptions {
  readonly file?: string
  readonly parser: Format | 'auto'
}

/**
 * Reads URLs from the arguments, a file, and stdin: for `-`, or when nothing else is named. Throws UsageError, also
 * when there is none.
 * @param verb that wants them, for the hint
 */
export async function takeIn(
  intake: Intake,
  args: readonly string[],
  verb: string,
  { file, parser }: SourceOptions,
): Promise<UrlList> {
  const isStdin =
    file === '-' || args.includes('-') || (args.length === 0 && file === undefined && process.stdin.isTTY !== true)
  for (const arg of args) {
    if (arg === '-' || arg.trim() === '') continue
    if (isFile(arg)) throw new UsageError(`${arg} is a file`, `to add its URLs: archivebox-ts ${verb} --file ${arg}`)
    for (const url of urlsInLine(arg.trim())) intake.take({ url })
  }
  const sources = [...(file !== undefined && file !== '-' ? [file] : []), ...(isStdin ? [process.stdin] : [])]
  const readAs: string[] = []
  for (const source of sources) {
    const tell = (format: Format) => readAs.push(`${nameOf(source)} (read as ${format})`)
    try {
      const { readEntries } = await import('../importers/read.ts')
      for await (const found of readEntries(source, parser === 'auto' ? undefined : parser, tell))
        for (const each of found) intake.take(each)
    } catch (error) {
      if (error instanceof UsageError) throw error
      throw new UsageError(`cannot read ${nameOf(source)}: ${messageOf(error)}`)
    }
  }
  const none =
    sources.length > 0 && parser !== 'auto'
      ? {
          why: `--parser ${parser} finds no URL in ${sources.map(nameOf).join(' and ')}`,
          hint: 'leave --parser out: then the format is found out from the content',
        }
      : readAs.length > 0
        ? {
            why: `no URL found in ${readAs.join(' and ')}`,
            hint: 'if it is in another format, name that with --parser',
          }
        : { why: 'no URL given', hint: `archivebox-ts ${verb} https://example.com, or a list with --file or on stdin` }
  return intake.list({ tell: sayMeanwhile }, none)
}

const nameOf = (source: string | NodeJS.ReadStream) => (typeof source === 'string' ? source : 'stdin')

/** Whether a word names an existing file, and does not look like a URL. */
function isFile(arg: string): boolean {
  try {
    return !/^[a-z][a-z\d+.-]*:/i.test(arg) && statSync(arg).isFile()
  } catch {
    return false
  }
}
