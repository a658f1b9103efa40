import { ignoreHangups, isToldToStop } from '../base/stop-signals.ts'
import { isPutAside, watchWrappers, wrappers } from '../processes/wrappers.ts'
import { terminal } from './terminal.ts'

/**
 * Has a command that runs in the foreground stop, as by a SIGTERM, when what it was started by is gone: npm, a script,
 * the shell that waited for it. Else it would go on in nobody's name, and hold the data dir. The timer keeps no process
 * alive.
 */
export function stopWithWrapper(): void {
  heedNohup()
  if (isPutAside()) return
  watchWrappers(wrappers(), (name) => {
    if (isToldToStop()) return // Whoever ended it has told us, too: a second signal would mean more.
    terminal.say(`${name}, which started this command, is gone: stopping (setsid and --daemon keep it running)`)
    process.kill(process.pid, 'SIGTERM')
  })
}

/** A SIGHUP means nothing to a command that was put aside by `nohup`. */
export function heedNohup(): void {
  if (isPutAside()) ignoreHangups()
}
