// The warm host: one process that runs our own JavaScript hooks one after another, so that a hook costs milliseconds instead of the start
// of a Node. It is a hook process like any other: own session, own row, killed when a hook in it runs out of time.
import { appendFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../base/errors.ts'
import type { HookContext, HookModule } from '../plugins/base/contract.ts'
import { recordStamp, resultRecord } from '../plugins/base/records.ts'
import type { HostJob, HostReply } from './host-protocol.ts'

/** Runs one hook as its process would: records to its stdout file, talk to its stderr file. */
async function runJob(job: HostJob): Promise<number> {
  let stdout = ''
  const stamp = recordStamp(job.env)
  const context: HookContext = {
    url: job.url,
    outputDir: job.outputDir,
    env: job.env,
    signal: AbortSignal.timeout(job.timeoutMs),
    emit: (record) => {
      stdout += `${JSON.stringify(stamp(record))}\n`
    },
    log: (line) => appendFileSync(job.stderr, `${line}\n`),
  }
  try {
    const module = (await import(pathToFileURL(job.path).href)) as { default: HookModule }
    const result = await module.default.run(context)
    writeFileSync(job.stdout, `${stdout}${JSON.stringify(resultRecord(result, job.env))}\n`)
    return result.status === 'failed' ? 1 : 0
  } catch (error) {
    context.log(error instanceof Error ? (error.stack ?? error.message) : messageOf(error))
    writeFileSync(
      job.stdout,
      `${stdout}${JSON.stringify(resultRecord({ status: 'failed', output: messageOf(error) }, job.env))}\n`,
    )
    return 1
  }
}

process.on('message', async (job: HostJob) => {
  const code = await runJob(job)
  process.send?.({ code, rssBytes: process.memoryUsage.rss() } satisfies HostReply)
})
// The worker that we work for is gone: nobody wants the result.
process.on('disconnect', () => process.exit(0))
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
