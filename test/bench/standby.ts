import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../../src/db/home.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { until } from './program.ts'
import { type Runner, standsBy, startRunner, stop } from './runner.ts'

/** How long nobody leads when a leader ends in a way that it cannot tell anybody, and a standby is there. */
export async function standby(rounds: number): Promise<Figure[]> {
  const values = { killed: [] as number[], withDatabase: [] as number[], frozen: [] as number[] }
  for (let round = 0; round < rounds; round += 1) {
    await withHome(async (home) => {
      values.killed.push(await untilTheHeirLeads(home, (leader) => leader.child.kill('SIGKILL')))
      values.frozen.push(await untilTheHeirLeads(home, (leader) => leader.child.kill('SIGSTOP')))
      // Last: the bench's own connections do not outlive it.
      values.withDatabase.push(
        await untilTheHeirLeads(home, (leader) => {
          leader.child.kill('SIGKILL')
          process.kill(postmasterOf(home), 'SIGKILL')
        }),
      )
    })
  }
  const figure = (what: string, name: keyof typeof values, atMost: number): Figure => ({
    bench: 'standby',
    what: `the standby leads after ${what}`,
    unit: 's',
    values: values[name],
    target: { atMost, of: 'value' },
  })
  return [
    figure('the leader was killed', 'killed', 1),
    figure('leader and postmaster were killed', 'withDatabase', 5),
    figure('the leader was stopped', 'frozen', 35),
  ]
}

/** Seconds from the fault to the standby's work loop. */
async function untilTheHeirLeads(home: Home, fault: (leader: Runner) => void): Promise<number> {
  const leader = startRunner(home)
  await leader.leading
  const heir = startRunner(home, '--standby')
  await until('the standby', 20, async () => (await standsBy(home, heir.child.pid!)) || undefined)
  const begun = performance.now()
  fault(leader)
  const ledAt = await heir.leading
  await leader.gone
  await stop(heir)
  return (ledAt - begun) / 1_000
}

function postmasterOf({ dataDir }: Home): number {
  return Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
}
