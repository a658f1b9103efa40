import { processesOf, type Seen } from '../support/processes.ts'

/** The processes that a fault may hit, as somebody outside tells them apart. */
const IS = {
  runner: ({ command }) => isRun(command),
  'crawl worker': ({ command }) => command.endsWith('worker crawl'),
  'snapshot worker': ({ command }) => command.endsWith('worker snapshot'),
  'hook host': ({ command }) => command.includes('hook-host'),
  hook: ({ command, environ }) =>
    environ.some((line) => line.startsWith('EXTRA_CONTEXT=')) && !/hook-host|chrom/.test(command),
  launcher: ({ command }) => command.includes('chrome_launch'),
  browser: ({ command }) => command.includes('--remote-debugging-pipe') && !command.includes('--type='),
  renderer: ({ command }) => command.includes('--type=renderer'),
  guardian: ({ command }) => command.includes('archivebox-ts-guardian') || command.includes('guardian.js'),
  command: ({ command }) => command.includes('main.js') && !/ (run|worker)( |$)/.test(command),
  postmaster: ({ command }) => /bin\/postgres/.test(command),
  backend: ({ command }) =>
    /^postgres: .*(archivebox|idle|SELECT|UPDATE|INSERT)/.test(command) && !command.includes('observer'),
} as const satisfies Record<string, (seen: Seen) => boolean>
/** The leader is told by its children. */
export type Victim = keyof typeof IS | 'leader'

const isRun = (command: string) => command.includes('main.js') && / run( |$)/.test(command)

/** Every process of this kind. */
export function victimsIn(dataDir: string, victim: Victim): number[] {
  const all = processesOf(dataDir)
  const is = victim === 'leader' ? IS.runner : IS[victim]
  const found = all.filter(is).map(({ pid }) => pid)
  if (victim !== 'leader') return found
  const parents = all.filter((seen) => IS.guardian(seen) || IS['crawl worker'](seen)).map(({ ppid }) => ppid)
  return found.filter((pid) => parents.includes(pid))
}
