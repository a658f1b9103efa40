import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../base/errors.ts'
import { Meanings } from '../../base/makes.ts'
import type { HookContext } from '../../hooks/contract.ts'

/** A page that broke off, as far as it was received, and the prefix of such file names. */
export const TRUNCATED_PAGE = 'html/truncated.html'
export const TRUNCATED_FILE = 'truncated-'
/** The prefix of what a server sent with an error instead of the file. */
export const ERROR_FILE = 'error-'

type Place = Pick<HookContext, 'outputDir'>
type Around = Pick<HookContext, 'outputDir' | 'visit'>

/** The bytes of another plugin's output (`html/output.html`); undefined when it does not exist. */
export function readSibling(context: Place, path: string): Buffer | undefined {
  try {
    return readFileSync(join(context.outputDir, '..', path))
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}

/** What the plugins around this one make; nothing is known of them when it is started by hand. */
export const around = ({ env }: Pick<HookContext, 'env'>): Meanings => Meanings.in(env['ARCHIVEBOX_MAKES'] ?? '{}')

/** Files of other plugins, the best first. */
export type SiblingFiles = readonly (readonly [plugin: string, file: string])[]

/** The files with all text of the page, then those with the text of its article. */
export function textsAround(context: Pick<HookContext, 'env'>): SiblingFiles {
  const meanings = around(context)
  return [...meanings.with('allText'), ...meanings.with('text')]
}

/** The first of these files that exists. */
export function firstSibling(context: Place, files: SiblingFiles): { file: string; bytes: Buffer } | undefined {
  for (const [plugin, file] of files) {
    const bytes = readSibling(context, `${plugin}/${file}`)
    if (bytes) return { file, bytes }
  }
  return undefined
}

/** Whether another plugin ran before this one: it is in the same row, or its directory exists, even if empty. */
export function siblingRan(context: Around, plugin: string): boolean {
  return context.visit?.includes(plugin) || existsSync(join(context.outputDir, '..', plugin))
}

/**
 * Whether this plugin of the row runs again later, because the browser had no turn for the page. Its present output is
 * then of an earlier attempt.
 */
export function comesLater({ visit }: Around, plugin: string): boolean {
  return visit?.comesLater === true && visit.includes(plugin)
}

/** The file that staticfile saved, when the URL is itself a file; undefined for a page. */
export function staticFile(context: Place): string | undefined {
  return staticFileIn(join(context.outputDir, '..'))
}

/** The complete body that was saved of a page or file, in the folder of a page. */
export function savedFileIn(folder: string): string | undefined {
  const name = staticFileIn(folder)
  if (name !== undefined && !isWholeFile(name)) return undefined
  const file = join(folder, ...(name === undefined ? ['html', 'output.html'] : ['staticfile', name]))
  return existsSync(file) ? file : undefined
}

function staticFileIn(folder: string): string | undefined {
  try {
    const all = readdirSync(join(folder, 'staticfile'))
    const names = all.filter((name) => !name.startsWith('.') && !name.endsWith('.log'))
    return names.find(isWholeFile) ?? names.find((name) => name.startsWith(TRUNCATED_FILE)) ?? names[0]
  } catch {
    return undefined
  }
}

/** Whether this is not the name of a part, or of what came instead. */
export const isWholeFile = (name: string) => !name.startsWith(TRUNCATED_FILE) && !name.startsWith(ERROR_FILE)

/**
 * The information in headers/headers.json (ours or upstream's) about the answer; undefined when missing or unreadable.
 */
export function siblingHeaders(context: Place):
  | {
      readonly finalUrl: string
      readonly status: number | undefined
      readonly headers: Readonly<Record<string, unknown>>
    }
  | undefined {
  const { final_url: finalUrl, status, headers } = siblingRecord(context, 'headers/headers.json')
  return typeof headers === 'object' && headers !== null
    ? {
        finalUrl: typeof finalUrl === 'string' ? finalUrl : '',
        status: typeof status === 'number' ? status : undefined,
        headers: { ...headers },
      }
    : undefined
}

/** The page's URL after redirects: the base of its relative links. */
export function pageUrl(context: Place & Pick<HookContext, 'url'>): string {
  return httpUrl(siblingHeaders(context)?.finalUrl) ?? context.url
}

/** The same of the page in the browser, which its scripts may have led elsewhere. */
export function shownUrl(context: Place & Pick<HookContext, 'url'>): string {
  const { final_url: ours, finalUrl: upstreams } = siblingRecord(context, 'chrome/navigation.json')
  return httpUrl(ours ?? upstreams) ?? pageUrl(context)
}

/** An object that another plugin wrote as JSON; an empty one when missing or unreadable. */
function siblingRecord(context: Place, path: string): Readonly<Record<string, unknown>> {
  try {
    return { ...(JSON.parse(readSibling(context, path)?.toString() ?? '{}') as object) }
  } catch {
    return {}
  }
}

function httpUrl(url: unknown): string | undefined {
  return typeof url === 'string' && /^https?:/i.test(url) && URL.canParse(url) ? url : undefined
}
