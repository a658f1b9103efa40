// The warm host: one process that runs our own JavaScript hooks, page after page, so that a hook costs
// milliseconds instead of the start of Node. It is a hook process like any other: own session, own row, killed when a
// hook in it exceeds its time.
import { createRequire } from 'node:module'
import { basename, dirname, relative } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { isFull } from '../base/disk-space.ts'
import { messageOf } from '../base/errors.ts'
import { flushFolder } from '../base/flush.ts'
import { own } from '../base/own.ts'
import { RowLog, textOf } from '../base/row-log.ts'
import { withoutUrlSecrets } from '../base/url-secrets.ts'
import { Visit } from '../browse/visit.ts'
import { bootId } from '../processes/proc.ts'
import { BUILT_IN } from './built-in.ts'
import type { HookContext, HookModule } from './contract.ts'
import { type HostedHook, type HostedOutcome, type HostJob, type HostReply, STOP } from './host-protocol.ts'
import { resultRecord } from './result-record.ts'

/** Longer output is read from the log. */
const LONGEST_REPLY = 64 * 1024

const load = createRequire(import.meta.filename)
const modules = new Map<string, HookModule>()

async function moduleAt(path: string): Promise<HookModule> {
  const known = modules.get(path)
  if (known) return known
  const builtIn = own(BUILT_IN, relative(import.meta.dirname, path))
  const { default: module } = (await builtIn?.()) ?? (load(path) as { default: HookModule })
  modules.set(path, module)
  return module
}

/**
 * Runs one hook as its own process would: records and messages go to the log, without the context that names the hook
 * in each record.
 */
async function runHook(
  { url, env: common, log: file }: HostJob,
  hook: HostedHook,
  visit: Visit,
  log: RowLog,
): Promise<Pick<HostedOutcome, 'code' | 'stdout' | 'complained'>> {
  const env = { ...common, ...hook.env }
  const records: object[] = []
  let complained = false
  const context: HookContext = {
    url,
    outputDir: hook.outputDir,
    env,
    signal: AbortSignal.timeout(hook.timeoutMs),
    visit,
    emit: (record) => records.push(record),
    log: (line) => {
      complained = true
      log.say(hook.name, withoutUrlSecrets(line))
    },
  }
  let code = 1
  try {
    const module = await moduleAt(hook.path)
    const said = await module.run(context)
    records.push(resultRecord(said))
    code = said.status === 'failed' ? 1 : 0
  } catch (error) {
    context.log(error instanceof Error ? (error.stack ?? error.message) : messageOf(error))
    records.push(resultRecord({ status: 'failed', output: messageOf(error) }))
  }
  // A failure on a full disk says nothing about the hook: the next worker of the page runs it again.
  const isTold = code === 0 || !isFull(dirname(file))
  const stdout = isTold ? log.append(hook.name, records) : textOf(records)
  return { code, complained, stdout: isTold && stdout.length > LONGEST_REPLY ? undefined : stdout }
}

const YES_OR_NO = [() => true, () => false] as const
const NO = Promise.resolve(false)

let stopped = false
/** How often, in jobs, the memory size is read, which is expensive. */
const LOOK_EVERY = 8
let jobs = 0
let rssBytes = 0

async function runJob(job: HostJob): Promise<HostReply> {
  const ended: Omit<HostedOutcome, 'isFlushed'>[] = []
  const flushed: Promise<boolean>[] = []
  stopped = false
  const visit = new Visit(job.hooks.map(({ outputDir }) => basename(outputDir)))
  const log = new RowLog(
    job.log,
    job.hooks.map(({ name }) => name),
    bootId(),
  )
  for (const hook of job.hooks) {
    await turn() // Lets a STOP arrive.
    if (stopped) break
    const began = performance.now()
    const outcome = await runHook(job, hook, visit, log)
    ended.push({ ...outcome, began, ended: performance.now() })
    // While the next hooks run: a disk takes as long as they do. The page's worker finds out what is wrong with a
    // folder.
    flushed.push(hook.flush ? flushFolder(hook.outputDir).then(...YES_OR_NO) : NO)
  }
  log.close()
  await visit.close()
  const areFlushed = await Promise.all(flushed)
  const now = performance.now()
  const outcomes = ended.map((outcome, index) => ({
    ...outcome,
    began: now - outcome.began,
    ended: now - outcome.ended,
    isFlushed: areFlushed[index]!,
  }))
  if (jobs++ % LOOK_EVERY === 0) rssBytes = process.memoryUsage.rss()
  return { outcomes, rssBytes }
}

/**
 * Runs the jobs that our worker sends, until it exits.
 * @param loaded called when Node has loaded what a page needs
 * @param ran called after a job on an existing page: on others, hooks run little of their code
 */
export function serve(loaded: () => void, ran: () => void): void {
  process.on('message', async (message: HostJob | typeof STOP) => {
    if (message === STOP) stopped = true
    else {
      process.getBuiltinModule(message.url.startsWith('https:') ? 'node:https' : 'node:http')
      loaded()
      const reply = await runJob(message)
      process.send?.(reply)
      if (reply.outcomes[0]?.code === 0) ran()
    }
  })
  // Our worker has died: nobody wants the result.
  process.on('disconnect', () => process.exit(0))
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
}
