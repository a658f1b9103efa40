import { type Found, findProblems, type Progress, problemRecord } from '../../app/verify/find-problems.ts'
import { mend } from '../../app/verify/mend.ts'
import { oneLine } from '../../base/clean.ts'
import { EXIT } from '../../base/errors.ts'
import { many, number, sizeText } from '../../base/words.ts'
import { pagesOn } from '../../db/nodes.ts'
import { TABLE_LINES } from '../format.ts'
import { asProcess, withHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { onStdout } from '../screen/palette.ts'
import { printRecord, terminal, wantsJson } from '../terminal.ts'
import { sayUnread, unreadRecord } from '../unread.ts'
import { remedyOf } from './verify-remedies.ts'

export interface VerifyOptions {
  readonly quick?: boolean
  readonly mend?: boolean
}

const SHOW_MS = 200

/**
 * `verify`: rows against files, and files against their recorded sizes and hashes. Pages on other nodes are only
 * counted. Returns 1 when some of what it read differ.
 */
export async function verify(options: GlobalOptions, verb: VerifyOptions): Promise<number> {
  return await withHome(options, async (home) => {
    return await asProcess(home, 'cli', async () => {
      const begun = performance.now()
      let progress: Progress = { event: 'progress', pages: 0, files: 0, hashed: 0, bytes: 0, away: new Map() }
      const tell = (now: Progress) => {
        progress = now
      }
      const all: Found[] = []
      const showing = setInterval(() => terminal.live([inWords(progress)]), SHOW_MS)
      try {
        for await (const found of findProblems(home, { quick: verb.quick === true }, { tell })) all.push(found)
      } finally {
        clearInterval(showing)
        terminal.live([])
      }
      show(options, all)
      const mended = verb.mend ? await mend(home, { found: all, pages: progress.pages }) : undefined
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      const sum = all.length === 0 ? 'no problems' : many(all.length, 'problem')
      terminal.say(`${inWords(progress)} checked in ${seconds} s: ${sum}`)
      sayRemedies(all, mended)
      const unread = await pagesOn(home.db, progress.away)
      if (wantsJson(options)) for (const node of unread) printRecord(unreadRecord(node))
      sayUnread(unread, 'verify there checks them')
      return all.some((each) => !mended?.has(each)) ? EXIT.failed : EXIT.ok
    })
  })
}

function inWords({ pages, files, hashed, bytes }: Progress): string {
  const content = hashed > 0 ? `, ${number(hashed)} of them by content (${sizeText(bytes)})` : ''
  return `${many(pages, 'page')}, ${many(files, 'file')}${content}`
}

function show(options: GlobalOptions, all: readonly Found[]): void {
  if (wantsJson(options)) {
    for (const found of all) printRecord(problemRecord(found))
    return
  }
  for (const { problem, path, detail, page } of all.slice(0, TABLE_LINES)) {
    const url = page ? ` (${oneLine(page.url)})` : ''
    process.stdout.write(`${onStdout.red(problem)}  ${oneLine(path)}\n    ${detail}${url}\n`)
  }
  if (all.length > TABLE_LINES) terminal.say(`only the first ${TABLE_LINES} are shown; --json shows all`)
}

/** Reports what was done about the problems of each kind, or would be. */
function sayRemedies(all: readonly Found[], mended: ReadonlySet<Found> | undefined): void {
  const sentence = (found: Found) => {
    const { would, mended: done, otherwise } = remedyOf(found)
    return `${found.problem}: ${(mended?.has(found) ? done : !mended && would && `--mend ${would}`) || otherwise}`
  }
  for (const [words, found] of Map.groupBy(all, sentence)) terminal.say(`  ${number(found.length)} ${words}`)
}
