// The pages that are archived, in a process of their own: its CPU is not the program's. `node site-process.ts PAGES`
import { startSite } from '../support/site.ts'

const site = await startSite(Number(process.argv[2]))
process.send?.(site.url)
process.on('disconnect', () => process.exit(0))
