import { appendFileSync, closeSync, openSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/**
 * Every place where a test may stop, kill or delay a process of ours: one after each step of the gate, of a claim, of a spawn, of a
 * publication and of a shutdown. Named `<area>.<step that was just done>`.
 */
export const FAILPOINTS = ['gate.registered'] as const

export type Failpoint = (typeof FAILPOINTS)[number]

const wanted = parse(process.env['ARCHIVEBOX_FAILPOINTS'])

/**
 * Does what `ARCHIVEBOX_FAILPOINTS` asks for at this point; without it (always, but in tests) nothing.
 * `name=action[@n]`, several separated by `;`: at the n-th passing (1 when not given), `kill9`, `term` or `stop` this process,
 * `exit`, `throw`, or `sleep:<ms>`. With `ARCHIVEBOX_FAILPOINTS_LOG=file` each fires once among all processes, and the file says which did.
 */
export async function failpoint(name: Failpoint): Promise<void> {
  const asked = wanted?.get(name)
  if (!asked) return
  asked.passed += 1
  if (asked.passed !== asked.at || !firstAmongAll(name)) return
  const [action, argument] = asked.action.split(':')
  if (action === 'kill9') process.kill(process.pid, 'SIGKILL')
  else if (action === 'term') process.kill(process.pid, 'SIGTERM')
  else if (action === 'stop') process.kill(process.pid, 'SIGSTOP')
  else if (action === 'exit') process.exit(1)
  else if (action === 'throw') throw new Error(`failpoint ${name}`)
  else if (action === 'sleep') await delay(Number(argument))
  else throw new Error(`unknown action "${asked.action}" for the failpoint ${name}`)
}

interface Asked {
  readonly action: string
  readonly at: number
  passed: number
}

function parse(text: string | undefined): Map<string, Asked> | undefined {
  if (!text) return undefined
  return new Map(
    text.split(';').map((part) => {
      const match = /^([\w.-]+)=([\w:]+?)(?:@(\d+))?$/.exec(part.trim())
      if (!match || !(FAILPOINTS as readonly string[]).includes(match[1]!)) throw new Error(`ARCHIVEBOX_FAILPOINTS: cannot read "${part}"`)
      return [match[1]!, { action: match[2]!, at: Number(match[3] ?? 1), passed: 0 }]
    }),
  )
}

function firstAmongAll(name: string): boolean {
  const log = process.env['ARCHIVEBOX_FAILPOINTS_LOG']
  if (!log) return true
  try {
    closeSync(openSync(`${log}.${name}`, 'wx'))
  } catch {
    return false
  }
  appendFileSync(log, `${name} ${process.pid}\n`)
  return true
}
