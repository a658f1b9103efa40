import type { ResultStatus } from '../db/tables.ts'
import type { Hook } from '../hooks/discover.ts'
import { alike, causeOf, isConsequence, isUnreachable, neededBy, needs } from '../machines/cause.ts'

/** How a hook ended, as it is to be told. */
interface Ending {
  readonly event: 'succeed' | 'empty' | 'skip' | 'fail' | 'delay' | 'interrupt'
  readonly output: string
}

const STATUS = { succeed: 'succeeded', empty: 'noresults', skip: 'skipped', fail: 'failed' } as const

/** Plugins that ask for the page and do little else: when they wait in vain, so does everybody. */
const ASKS_ONLY = new Set(['headers', 'html'])

/** What failed on one page so far: a failure is told once, at its cause. */
export class Consequences {
  /** Plugins of which something failed, or was skipped because of a failure. */
  readonly #failed = new Set<string>()
  readonly #empty = new Set<string>()
  /** By cause, who met it first. */
  readonly #causes = new Map<string, string>()
  /** Something of the page came: who gets no answer now may be alone in that. */
  #isAnswered = false

  /** Takes note of a final result, of this round or an earlier one. */
  note(plugin: string, status: ResultStatus, output: string): void {
    if (status === 'succeeded') this.#isAnswered = true
    if (status === 'noresults') this.#empty.add(plugin)
    if (status === 'failed' || (status === 'skipped' && isConsequence(output))) this.#failed.add(plugin)
    if (status !== 'failed') return
    const cause = causeOf(plugin, output)
    if (!this.#causes.has(cause)) this.#causes.set(cause, plugin)
  }

  /** Why a hook need not be run: a plugin that its own requires failed. */
  lacking({ plugin, requires }: Pick<Hook, 'plugin' | 'requires'>): string | undefined {
    const lost = requires.find((required) => required !== plugin && this.#failed.has(required))
    return lost === undefined ? undefined : needs(lost)
  }

  /**
   * The end of a hook, told as what it is, and noted. A failure that another hook met before is none of its own: one to
   * reach the page, and any other of those who only ask for the page, as long as nothing of it came. A hook that lacks
   * what another one found none of found nothing, too.
   */
  told<End extends Ending>(plugin: string, end: End): End {
    const told = { ...end, ...this.#asConsequence(plugin, end) }
    if (told.event in STATUS) this.note(plugin, STATUS[told.event as keyof typeof STATUS], told.output)
    return told
  }

  #asConsequence(plugin: string, { event, output }: Ending): Partial<Ending> {
    const lost = event === 'skip' ? neededBy(output) : undefined
    if (lost !== undefined && this.#empty.has(lost) && !this.#failed.has(lost))
      return { event: 'empty', output: `${lost} found nothing` }
    if (event !== 'fail') return {}
    const cause = causeOf(plugin, output)
    const first = this.#causes.get(cause)
    const isSame = isUnreachable(cause) || (!this.#isAnswered && ASKS_ONLY.has(first ?? ''))
    return first !== undefined && first !== plugin && isSame ? { event: 'skip', output: alike(cause, first) } : {}
  }
}
