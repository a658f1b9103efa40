let all: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']
let isTold = false

/**
 * Calls back for each signal that asks a command to stop, instead of the default action.
 * @returns a function that ends this
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

/** Whether such a signal has come since the start, or since the last stop was called off. */
export const isToldToStop = (): boolean => isTold

/** The requested stop did not happen: a runner leads again. */
export function callOffStop(): void {
  isTold = false
}

/** Ignores SIGHUP from now on. Node undoes that for a process that `nohup` started. */
export function ignoreHangups(): void {
  if (!all.includes('SIGHUP')) return
  all = all.filter((signal) => signal !== 'SIGHUP')
  process.on('SIGHUP', () => {})
}
