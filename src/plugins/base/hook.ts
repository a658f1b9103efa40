import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startDeadline } from '../../base/deadline.ts'
import { flag, sizeText, timeoutSeconds } from '../../base/env-settings.ts'
import { AppError, codeOf, messageOf } from '../../base/errors.ts'
import type { Answer } from '../../browse/http/answer.ts'
import type { HookContext, HookModule, HookResult } from '../../hooks/contract.ts'
import { earlierCopy } from './earlier.ts'
import { runAsProgram } from './program.ts'

/** The plugin for which everything that a visit receives is recorded, from its first request on. */
const RECORDER = 'warc'

export interface HookDefinition {
  /** The name of the plugin and of its output directory; `<PLUGIN>_ENABLED` and `<PLUGIN>_TIMEOUT` derive from it. */
  readonly plugin: string
  /** Runs for any URL, also `archivebox://internal`; the default is http and https only. */
  readonly anyUrl?: boolean
  /** Does the work. It may throw: users read an AppError's message as the reason. */
  run(context: HookContext): Promise<HookResult>
}

/**
 * Makes the module of a hook: it can be imported (`run`), and started as a program (`./on_Snapshot__54_title.js
 * --url=...`). Pass `import.meta` of the hook's own file.
 */
export function defineHook(meta: ImportMeta, definition: HookDefinition): HookModule {
  const hook: HookModule = { run: (context) => guardedRun(definition, context) }
  if (isStarted(meta)) void runAsProgram(definition.plugin, hook)
  return hook
}

export const succeeded = (output: string, json?: unknown): HookResult =>
  json === undefined ? { status: 'succeeded', output } : { status: 'succeeded', output, json }
/** Succeeds with the file of an answer, which its server may have reported as not modified. */
export const saved = (path: string, { notModified }: Pick<Answer, 'notModified'>, json?: object): HookResult =>
  notModified === undefined
    ? succeeded(path, json)
    : succeeded(`unchanged since ${notModified.since}`, { ...json, unchanged_since: notModified.since })
export const noResults = (output: string): HookResult => ({ status: 'noresults', output })
export const skipped = (output: string): HookResult => ({ status: 'skipped', output })
/** @param json with `served`, the path of a file that is kept nevertheless, such as the body of an error response */
export const failed = (output: string, json?: unknown): HookResult =>
  json === undefined ? { status: 'failed', output } : { status: 'failed', output, json }
/** Failed temporarily: it will be retried. */
export const later = (output: string): HookResult => ({ status: 'backoff', output })
/** The body broke off: the received part is kept. @param bytes the size of that part */
export const truncated = (trouble: string, bytes: number, served: string, json?: object): HookResult =>
  failed(`${trouble}; kept as far as it came: ${sizeText(bytes)}`, { ...json, served, truncated: true })
/** The input is missing, although the plugin that makes it has run. */
export const lacking = (plugin: string): HookResult => skipped(`needs ${plugin}, which failed`)

async function guardedRun(definition: HookDefinition, context: HookContext): Promise<HookResult> {
  const prefix = definition.plugin.toUpperCase()
  let answer: { readonly http_status: number; readonly retry_after?: number } | undefined
  const withStatus = (result: HookResult): HookResult =>
    answer === undefined ? result : { ...result, json: { ...(result.json ?? {}), ...answer } }
  if (context.visit?.includes(RECORDER)) context.visit.recordInto ??= join(context.outputDir, '..', RECORDER)
  try {
    if (!flag(context.env, `${prefix}_ENABLED`, true)) return skipped(`${prefix}_ENABLED=False`)
    if (!definition.anyUrl && !/^https?:/i.test(context.url)) return noResults('unsupported input URL')
    const closers: (() => Promise<void>)[] = []
    const deadline = startDeadline(context.signal, timeoutSeconds(context.env, prefix))
    try {
      deadline.signal.throwIfAborted()
      const result = await definition.run({
        url: context.url,
        outputDir: context.outputDir,
        env: context.env,
        signal: deadline.signal,
        visit: context.visit,
        earlier: () => earlierCopy(context),
        onEnd: (closer) => (context.visit ? context.visit.onClose(closer) : closers.push(closer)),
        spend: (ms) => deadline.spend(ms),
        emit: (record) => context.emit(record),
        log: (line) => context.log(line),
        answered: (status, retryAfter) => {
          answer = { http_status: status, ...(retryAfter !== undefined && { retry_after: retryAfter }) }
        },
      })
      return withStatus(result)
    } catch (error) {
      // After the deadline every error is a consequence of it.
      if (deadline.signal.aborted) return withStatus(failed(messageOf(deadline.signal.reason)))
      throw error
    } finally {
      deadline.clear()
      for (const close of closers) await close()
    }
  } catch (error) {
    // Any error that is neither ours nor the system's is a defect: the log gets its stack, the result its message.
    if (!(error instanceof AppError) && codeOf(error) === undefined && error instanceof Error)
      context.log(error.stack ?? error.message)
    return withStatus(failed(messageOf(error)))
  }
}

function isStarted(meta: ImportMeta): boolean {
  if (typeof meta.main === 'boolean') return meta.main
  const script = process.argv[1]
  try {
    return script !== undefined && realpathSync(script) === realpathSync(fileURLToPath(meta.url))
  } catch {
    return false
  }
}
