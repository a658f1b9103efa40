let all: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** The signals that stop a command in order. */
export const stopSignals = (): readonly NodeJS.Signals[] => all

/** From now on a SIGHUP means nothing to this process. Node takes that back from a process that `nohup` started. */
export function ignoreHangups(): void {
  if (!all.includes('SIGHUP')) return
  all = all.filter((signal) => signal !== 'SIGHUP')
  process.on('SIGHUP', () => {})
}
