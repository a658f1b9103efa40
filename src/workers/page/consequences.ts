import type { ResultStatus } from '../../db/tables.ts'
import type { Hook } from '../../hooks/discover.ts'
import { alike, causeOf, isConsequence, isUnreachable, neededBy, needs } from '../../machines/cause.ts'

/** The end of a hook, as it is reported. */
interface Ending {
  readonly event: 'succeed' | 'empty' | 'skip' | 'fail' | 'delay' | 'interrupt'
  readonly output: string
}

const STATUS = { succeed: 'succeeded', empty: 'noresults', skip: 'skipped', fail: 'failed' } as const

/** Plugins that do little but request the page: when they time out, others will, too. */
const ASKS_ONLY = new Set(['headers', 'html'])

/** What has failed on one page so far, so that a failure is reported once, at its cause. */
export class Consequences {
  /** Plugins with a hook that failed, or was skipped because of a failure. */
  readonly #failed = new Set<string>()
  readonly #empty = new Set<string>()
  /** Plugins whose background hook failed: their own other hooks would wait for it in vain. */
  readonly #down = new Set<string>()
  /** For each cause, the plugin that met it first. */
  readonly #causes = new Map<string, string>()
  /** Something of the page was received, so a later timeout may be due to one plugin alone. */
  #isAnswered = false

  /** Records a final result, of this round or an earlier one. */
  note(plugin: string, status: ResultStatus, output: string): void {
    if (status === 'succeeded') this.#isAnswered = true
    if (status === 'noresults') this.#empty.add(plugin)
    if (status === 'failed' || (status === 'skipped' && isConsequence(output))) this.#failed.add(plugin)
    if (status !== 'failed') return
    const cause = causeOf(plugin, output)
    if (!this.#causes.has(cause)) this.#causes.set(cause, plugin)
  }

  /**
   * Why a hook is not run: a plugin that it requires failed, or a background hook of its own. Undefined when it can
   * run.
   */
  lacking({ plugin, requires }: Pick<Hook, 'plugin' | 'requires'>): string | undefined {
    const lost = requires.find((required) => required !== plugin && this.#failed.has(required))
    return lost === undefined && !this.#down.has(plugin) ? undefined : needs(lost ?? plugin)
  }

  /** Records that a plugin has nothing to offer: a background hook of it failed, on the page or for the whole crawl. */
  isDown(plugin: string): void {
    this.#failed.add(plugin)
    this.#down.add(plugin)
  }

  /**
   * Records the end of a hook and returns it as it is reported. A failure to reach the page that an earlier hook had
   * already met becomes a consequence of that one; so does any other failure of a plugin that only requests the page,
   * as long as nothing was received. A hook whose input is missing because another one found none is reported as having
   * found nothing, too.
   * @param isAside an earlier background hook of the plugin still runs, so this end says nothing about the plugin
   */
  told<End extends Ending>(plugin: string, end: End, isAside = false): End {
    const told = { ...end, ...this.#asConsequence(plugin, end) }
    if (told.event in STATUS && !isAside) this.note(plugin, STATUS[told.event as keyof typeof STATUS], told.output)
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
