import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Plug } from './network.ts'

/** What starts a program on a machine, as its first process: when `unshare` is killed, all of them are. */
export function inSpace({ space }: Plug): string[] {
  const namespaces = ['unshare', '--mount', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc']
  return ['ip', 'netns', 'exec', space, ...namespaces]
}

/** The processes of a machine, the first one first, by the pid of its `unshare`. */
export function processesUnder(outer: number): number[] {
  const first = children(outer)[0]
  if (!first) return []
  const space = spaceOf(first)
  const others = readdirSync('/proc').filter((pid) => /^\d/.test(pid) && pid !== first && spaceOf(pid) === space)
  return [first, ...others].map(Number)
}

/** Kills a program, and waits until it is gone. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function children(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  } catch {
    return []
  }
}

/** The namespace of processes that a process lives in; undefined when it has gone. */
function spaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`)
  } catch {
    return undefined
  }
}
