import { readEnviron } from './proc.ts'

/**
 * Environment variables that every process below a runner carries: reaping finds it by them, whoever its parent is now.
 */
export const MARKER = {
  process: 'ARCHIVEBOX_PROCESS_ID',
  runner: 'ARCHIVEBOX_RUNNER_ID',
  /**
   * On a hook, and on the host of hooks: the worker that started it. Reaping the worker finds it, even without its row.
   */
  worker: 'ARCHIVEBOX_WORKER_ID',
  /** Carried only by a runner's guardian, in place of the others. */
  guardian: 'ARCHIVEBOX_GUARDIAN_OF',
} as const

/** The marks of the process with this row, and of what it started if it is a worker, whatever other rows say. */
export function marksOf(id: string): string[] {
  return [`${MARKER.process}=${id}`, `${MARKER.worker}=${id}`]
}

/** The process and the worker in the marks of a process's environment. */
export function marksIn(pid: number): { readonly process: string | undefined; readonly worker: string | undefined } {
  const lines = readEnviron(pid)
  const mark = (name: string) => lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1)
  return { process: mark(MARKER.process), worker: mark(MARKER.worker) }
}
