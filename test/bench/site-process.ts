// The pages that are archived, in a process of their own: its CPU is not the program's. `node site-process.ts PAGES`
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pages, type Routes, startSite } from '../support/site.ts'

/** Of what is larger or smaller there are few; they would decide alone. */
const [LEAST, MOST] = [1_000, 60_000]

/** HTML files from all over a folder, in the place of the pages that are made up. */
function filesOf(dir: string, count: number): Routes {
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.html'))
    .map((name) => join(dir, name))
    .filter((file) => statSync(file).size >= LEAST && statSync(file).size <= MOST)
    .toSorted()
  if (files.length < count) throw new Error(`${dir} has ${files.length} HTML files, not ${count}`)
  const chosen = Array.from({ length: count }, (_, i) => files[Math.floor((i * files.length) / count)]!)
  return Object.fromEntries(chosen.map((file, i) => [`/page-${i + 1}.html`, readFileSync(file, 'utf8')]))
}

const count = Number(process.argv[2])
const dir = process.env['BENCH_PAGES']
const site = await startSite(dir ? { ...pages(count), ...filesOf(dir, count) } : count)
process.send?.(site.url)
process.on('disconnect', () => process.exit(0))
