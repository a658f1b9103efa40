let all: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
let isTold = false

/**
 * Calls back for each signal that stops a command in order, instead of what it does by itself.
 * @returns ends that
 */
export function onStopSignals(listener: (signal: NodeJS.Signals) => void): () => void {
  const signals = all
  const heard = (signal: NodeJS.Signals) => {
    isTold = true
    listener(signal)
  }
  for (const signal of signals) process.on(signal, heard)
  return () => {
    for (const signal of signals) process.off(signal, heard)
  }
}

/** Has such a signal come since the start, or since the last stop was called off? */
export const isToldToStop = (): boolean => isTold

/** The stop that was asked for came to nothing: a runner leads again. */
export function callOffStop(): void {
  isTold = false
}

/** From now on a SIGHUP means nothing to this process. Node takes that back from a process that `nohup` started. */
export function ignoreHangups(): void {
  if (!all.includes('SIGHUP')) return
  all = all.filter((signal) => signal !== 'SIGHUP')
  process.on('SIGHUP', () => {})
}
