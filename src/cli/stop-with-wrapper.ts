import { ignoreHangups, isToldToStop } from '../base/stop-signals.ts'
import { isPutAside, watchWrappers, wrappers } from '../processes/wrappers.ts'
import { terminal } from './terminal.ts'

/**
 * Stops a foreground command, as by a SIGTERM, when the process that started it is gone: npm, a script, a shell that
 * waited for it. Otherwise it would go on unattended, and hold the data dir. The timer does not keep the process alive.
 */
export function stopWithWrapper(): void {
  heedNohup()
  if (isPutAside()) return
  watchWrappers(wrappers(), (name) => {
    if (isToldToStop()) return // Whoever ended it has signalled us, too: a second signal would mean more.
    terminal.say(`${name}, which started this command, is gone: stopping (setsid and --daemon keep it running)`)
    process.kill(process.pid, 'SIGTERM')
  })
}

/** Ignores SIGHUP for a command that `nohup` started. */
export function heedNohup(): void {
  if (isPutAside()) ignoreHangups()
}
