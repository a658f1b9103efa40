import { adopt, type NotAdopted } from '../../app/nodes/adopt.ts'
import { type Difference, differencesBetween } from '../../app/nodes/differences.ts'
import { findNode } from '../../app/nodes/find-node.ts'
import { type Forgettable, forget, forgettable } from '../../app/nodes/forget.ts'
import { oneLine } from '../../base/clean.ts'
import { AppError, EXIT, UsageError } from '../../base/errors.ts'
import { duration, number, shellWord, sizeText } from '../../base/words.ts'
import { listNodes } from '../../db/node-list.ts'
import { steerNode } from '../../db/nodes.ts'
import { nodeRecord } from '../../db/records.ts'
import { many, TABLE_LINES } from '../format.ts'
import { asProcess, withHome } from '../home.ts'
import { interruptible } from '../interrupts.ts'
import { isDrained, nodeColour, nodeState } from '../node-state.ts'
import type { GlobalOptions } from '../options.ts'
import { ID } from '../records/list-kind.ts'
import { type PrintOptions, printerOf } from '../records/print.ts'
import { canvasOn } from '../screen/canvas.ts'
import { wrappedUncut } from '../screen/flow.ts'
import { onStdout } from '../screen/palette.ts'
import type { Column } from '../screen/table.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'

type Shown = ReturnType<typeof nodeRecord>

/** `node list`: every data dir whose runner has led on this database. */
export async function nodeList(options: GlobalOptions, verb: PrintOptions): Promise<void> {
  const printer = printerOf(options, { columns: COLUMNS }, verb)
  await withHome(options, async (home) =>
    printer.list(
      (await listNodes(home.db, 'all')).map((node) => nodeRecord(node, home)),
      'no runner has led yet: archivebox-ts run',
    ),
  )
}

const COLUMNS: readonly Column<Shown>[] = [
  { name: 'node', value: ({ name, here }) => `${oneLine(name)}${here ? ' (here)' : ''}`, cut: 'middle' },
  { name: 'state', value: nodeState, style: nodeColour },
  { name: 'heard of', value: ({ heartbeat_age_s: age }) => `${duration(Math.max(0, age))} ago`, right: true, rank: 1 },
  { name: 'in work', value: ({ pages_in_work: pages }) => String(pages), right: true, rank: 3 },
  { name: 'pages', value: ({ pages }) => number(pages ?? 0), right: true, rank: 2 },
  { name: 'free', value: ({ free_bytes: free }) => (free === null ? '-' : sizeText(free)), right: true, rank: 4 },
  { name: 'jobs', value: ({ file_jobs: jobs }) => number(jobs), right: true, rank: 5 },
  { name: 'version', value: ({ version }) => version || '-', rank: 6 },
  { name: 'schema', value: ({ schema }) => String(schema ?? '-'), right: true, wide: true },
  { name: 'crawls', value: ({ crawls_in_work: crawls }) => String(crawls), right: true, wide: true },
  { name: 'data dir', value: ({ hostname, data_dir }) => oneLine(`${hostname ?? '?'}:${data_dir}`), wide: true },
  ID,
]

/** `node show [NODE...]`: each in full, and how it differs from this one. */
export async function nodeShow(options: GlobalOptions, given: readonly string[]): Promise<void> {
  await withHome(options, async (home) => {
    const all = await listNodes(home.db, 'all')
    const here = all.find(({ id }) => id === home.dataDirId)
    if (given.length === 0 && !here)
      throw new AppError('this data dir is no node yet: no runner has led here', { hint: 'archivebox-ts run' })
    const ids = new Set<string>()
    for (const which of given.length === 0 ? [home.dataDirId] : given) ids.add((await findNode(home.db, which)).id)
    for (const node of all.filter(({ id }) => ids.has(id))) {
      const differences = here && differencesBetween(here, node)
      if (wantsJson(options)) printRecord({ ...nodeRecord(node, home), differences: differences ?? null })
      else process.stdout.write(inFull(nodeRecord(node, home), differences))
    }
  })
}

function inFull(node: Shown, differences: readonly Difference[] | undefined): string {
  const { name, here, id, heartbeat_age_s: age, version, schema, free_bytes: free } = node
  const differs = (differences ?? []).map(
    ({ what, name: of, here: ours, there }) =>
      ['differs', `${what} ${of}: ${there ?? 'none'}, here ${ours ?? 'none'}`] as const,
  )
  const nothing = differences === undefined ? 'not known: each says so when its runner leads' : 'in nothing'
  const rows: readonly (readonly [string, string])[] = [
    ['node', `${name}${here ? ' (here)' : ''}`],
    ['id', id],
    ['state', `${nodeState(node)}, heard of ${duration(Math.max(0, age))} ago`],
    ...whatNow(node).map((text) => ['what now', text] as const),
    ['data dir', `${node.data_dir} on ${node.hostname ?? 'a machine that is not known'}`],
    ['version', `${version || 'not known'}, schema ${schema ?? 'not known'}`],
    ['in work', `${many(node.crawls_in_work, 'crawl')}, ${many(node.pages_in_work, 'page')}`],
    ['has', `${many(node.pages ?? 0, 'page')}, ${free === null ? 'free space not known' : `${sizeText(free)} free`}`],
    ['waits', `${many(node.file_jobs, 'removal')} of files`],
    ...(here ? [] : differs.length > 0 ? differs : [['differs', nothing] as const]),
  ]
  const { columns } = canvasOn(process.stdout, onStdout)
  return rows
    .map(([key, text]) => {
      const lines = wrappedUncut(oneLine(text), columns - KEY_COLUMNS)
      return `${onStdout.dim(key.padEnd(KEY_COLUMNS))}${lines.join(`\n${' '.repeat(KEY_COLUMNS)}`)}\n`
    })
    .join('')
}

const KEY_COLUMNS = 9

/** What can be done about a node that does not work. */
function whatNow(node: Shown): string[] {
  const name = shellWord(node.name)
  if (node.state === 'lost')
    return [`start its runner; if its disk is gone, archivebox-ts node forget ${name} says what is lost`]
  if (node.state === 'draining') {
    const undo = `archivebox-ts node drain --undo ${name} lets it work again`
    return [isDrained(node) && node.leads ? `its runner can be stopped; ${undo}` : undo]
  }
  return node.leads ? [] : ['start its runner; without a report it is lost after a while (NODE_LOST_SECONDS)']
}

/** `node drain [NODE]`, `node drain --undo [NODE]` */
export async function nodeDrain(
  options: GlobalOptions,
  which: string | undefined,
  { undo = false }: { readonly undo?: boolean },
): Promise<void> {
  await withHome(options, async (home) => {
    const node = await findNode(home.db, which ?? home.dataDirId)
    const isDone = await steerNode(home.db, node.id, undo ? 'active' : 'draining')
    const name = oneLine(node.name)
    const again = `archivebox-ts node drain --undo ${shellWord(node.name)} lets it work again`
    const drains = node.leads
      ? `begins nothing new, and ${
          node.pages_in_work > 0 ? `finishes ${many(node.pages_in_work, 'page')}` : 'has no page in work'
        }`
      : 'has no runner, and begins nothing when one starts'
    if (!isDone) terminal.tell(undo ? `${name} does not drain` : `${name} drains already`)
    else if (undo) terminal.tell(`${name} works again${node.leads ? '' : ' when its runner starts'}`)
    else terminal.tell(`${name} ${drains}; ${again}`)
    if (wantsJson(options)) printRecord(nodeRecord(await findNode(home.db, node.id), home))
  })
}

/** `node forget NODE`: says what would be lost; `--yes` does it. */
export async function nodeForget(
  options: GlobalOptions,
  which: string,
  { yes = false }: { readonly yes?: boolean },
): Promise<void> {
  await withHome(options, async (home, open) => {
    const node = await forgettable(open, which)
    terminal.tell(whatIsLost(node))
    if (!yes) throw new UsageError('nothing was changed', `archivebox-ts node forget --yes ${shellWord(node.name)}`)
    await asProcess(home, 'cli', async () => {
      const tell = ({ done }: { readonly done: number }) =>
        terminal.live([`${number(done)} of ${many(node.pages, 'page')}`])
      const pages = await interruptible((signal) => forget(open, node, { signal, tell })).finally(() =>
        terminal.live([]),
      )
      if (wantsJson(options)) printRecord({ type: 'Forgotten', id: node.id, name: node.name, pages })
      terminal.tell(`forgot ${oneLine(node.name)}: ${many(pages, 'page')} failed for want of their files`)
      if (pages > 0)
        terminal.say(
          'archivebox-ts snapshot list --outcome failed | archivebox-ts snapshot retry --failed - archives them again',
        )
    })
  })
}

function whatIsLost({ name, pages, bytes, open, file_jobs: jobs }: Forgettable): string {
  const parts = [
    `${many(pages, 'page')} (${sizeText(bytes)}) ${pages === 1 ? 'has its' : 'have their'} files only there`,
    open > 0 && `${many(open, 'page')} that it had begun ${open === 1 ? 'is' : 'are'} archived anew elsewhere`,
    jobs > 0 && `${many(jobs, 'removal')} of files end`,
  ]
  return `node ${oneLine(name)}: ${parts.filter(Boolean).join('; ')}`
}

/** `node adopt NODE`. @returns 1 when some pages stay the other node's */
export async function nodeAdopt(options: GlobalOptions, which: string): Promise<number> {
  return await withHome(options, async (home, open) => {
    return await asProcess(home, 'cli', async () => {
      let shown = 0
      const onLeft = ({ page, problems }: NotAdopted) => {
        shown += 1
        if (wantsJson(options)) printRecord({ type: 'NotAdopted', snapshot_id: page.id, url: page.url, problems })
        else if (shown <= TABLE_LINES)
          process.stdout.write(
            `${onStdout.red('stays')}  ${oneLine(page.url)}\n` +
              problems
                .map(({ problem, path, detail }) => `    ${problem}: ${oneLine(path)}, ${oneLine(detail)}\n`)
                .join(''),
          )
      }
      const tell = ({ done }: { readonly done: number }) => terminal.live([`${many(done, 'page')} checked`])
      const { name, pages, left, isWhole } = await interruptible((signal) =>
        adopt(open, { which, onLeft }, { signal, tell }),
      ).finally(() => terminal.live([]))
      if (shown > TABLE_LINES && !wantsJson(options))
        terminal.say(`only the first ${TABLE_LINES} are shown; --json shows all`)
      terminal.tell(
        `${many(pages, 'page')} of node ${oneLine(name)} are here now${left > 0 ? `; ${left} stay there` : ''}`,
      )
      if (isWhole) terminal.say(`nothing is left of ${oneLine(name)}: it is no node any more`)
      else if (left > 0)
        terminal.say(
          `copy what is missing and adopt again, or give it up: archivebox-ts node forget ${shellWord(name)}`,
        )
      return left > 0 ? EXIT.failed : EXIT.ok
    })
  })
}
