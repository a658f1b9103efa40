import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RoleUsage, TreeWatch } from './cpu.ts'
import type { Figure } from './figures.ts'
import { withHome } from './home.ts'
import { NPM_ONLY } from './plugins.ts'
import { archivebox, MAIN, startNode } from './program.ts'
import { withSite } from './site.ts'

/** The sizes of a crawl, and the most memory in MB that it may take: the more pages, the same memory. */
const AT_MOST: ReadonlyMap<number, number> = new Map([
  [200, 350],
  [1_000, 400],
  [10_000, 400],
])

/** The memory of everything while lists of pages are archived, shared memory counted once, at its peak. */
export async function memory(rounds: number): Promise<Figure[]> {
  const largest = Math.max(...AT_MOST.keys())
  return await withSite(largest, async (site) => {
    const figures: Figure[] = []
    for (const [pages, atMost] of AT_MOST) {
      const values: number[] = []
      for (let round = 0; round < rounds; round += 1) {
        const roles = await rolesAtPeak(site, pages, largest)
        console.log(`${pages} pages, at the peak: ${roles.map(textOf).join(', ')}`)
        values.push(roles.reduce((sum, { pssMb }) => sum + pssMb, 0))
      }
      figures.push({
        bench: 'memory',
        what: `peak PSS of everything, ${pages} pages`,
        unit: 'MB',
        values,
        target: { atMost, of: 'value' },
      })
    }
    return figures
  })
}

const textOf = ({ role, pssMb }: RoleUsage) => `${role} ${pssMb.toFixed(0)} MB`

async function rolesAtPeak(site: string, pages: number, of: number): Promise<RoleUsage[]> {
  return await withHome(async ({ dataDir }) => {
    const list = join(dataDir, 'list.txt')
    // From all over the site: neighbours are alike.
    const urls = Array.from({ length: pages }, (_, at) => `${site}/page-${Math.floor((at * of) / pages) + 1}.html`)
    writeFileSync(list, urls.join('\n'))
    await archivebox(dataDir, 'add', ...NPM_ONLY, '--file', list)
    const runner = startNode([MAIN, '--data-dir', dataDir, 'run', '--exit-on-idle', '--daemon'], { stdio: 'ignore' })
    const watch = new TreeWatch(runner.pid!, dataDir)
    const [code] = await once(runner, 'exit')
    const roles = watch.end()
    if (code !== 0) throw new Error(`the runner ended with ${code}`)
    return roles
  })
}
