import type { Hook } from '../../hooks/discover.ts'
import { alike, causeOf, isConsequence, isUnreachable, neededBy, needs } from '../../machines/cause.ts'
import type { FinalStatus } from '../../machines/results.ts'

/** The end of a hook, as it is reported. */
export interface ReportedEnd {
  readonly event: 'succeed' | 'empty' | 'skip' | 'fail' | 'delay' | 'interrupt'
  readonly output: string
}

/** A hook that has ended. */
export interface KnownEnd {
  readonly plugin: string
  readonly status: FinalStatus
  readonly output: string
  /** The error that it met, when it failed. */
  readonly cause?: string | undefined
  readonly background: boolean
  /** It does little but request the page: when it times out, others will, too. */
  readonly asksOnly: boolean
}

/** What follows from what has failed on one page so far: a failure is reported once, at its cause. */
export class Consequences {
  /** Plugins with a hook that failed, or was skipped because of a failure. */
  readonly #failed: Set<string>
  readonly #empty = new Set<string>()
  /** Plugins whose background hook failed: their own other hooks would wait for it in vain. */
  readonly #down: Set<string>
  /** For each cause, the plugin that met it first. */
  readonly #causes = new Map<string, Pick<KnownEnd, 'plugin' | 'asksOnly'>>()
  /** Some of the page was received, so a later timeout may be the fault of one plugin alone. */
  #isAnswered = false

  /**
   * @param ends of this round and earlier ones, in the order in which they came
   * @param unable plugins that have nothing to offer, because their set-up failed for the whole crawl
   */
  constructor(ends: readonly KnownEnd[], unable: readonly string[] = []) {
    this.#failed = new Set(unable)
    this.#down = new Set(unable)
    for (const end of ends) this.#note(end)
  }

  #note({ plugin, status, output, cause, background, asksOnly }: KnownEnd): void {
    if (status === 'succeeded') this.#isAnswered = true
    if (status === 'noresults') this.#empty.add(plugin)
    if (status === 'failed' || (status === 'skipped' && isConsequence(output))) this.#failed.add(plugin)
    if (status === 'failed' && background) this.#down.add(plugin)
    if (cause !== undefined && !this.#causes.has(cause)) this.#causes.set(cause, { plugin, asksOnly })
  }

  /**
   * Why a hook is not run: a plugin that it requires failed, or a background hook of its own. Undefined when it can
   * run.
   */
  lacking({ plugin, requires }: Pick<Hook, 'plugin' | 'requires'>): string | undefined {
    const lost = requires.find((required) => required !== plugin && this.#failed.has(required))
    return lost === undefined && !this.#down.has(plugin) ? undefined : needs(lost ?? plugin)
  }

  /**
   * The end of a hook as it is reported. A failure to reach the page that an earlier hook had already met becomes a
   * consequence of that one; so does any other failure of a plugin that only requests the page, as long as nothing was
   * received. A hook whose input is missing because another one found none is reported as having found nothing, too.
   */
  told<End extends ReportedEnd>(plugin: string, end: End): End {
    const { event, output } = end
    const lost = event === 'skip' ? neededBy(output) : undefined
    if (lost !== undefined && this.#empty.has(lost) && !this.#failed.has(lost))
      return { ...end, event: 'empty', output: `${lost} found nothing` }
    if (event !== 'fail') return end
    const cause = causeOf(plugin, output)
    const first = this.#causes.get(cause)
    const isSame = isUnreachable(cause) || (!this.#isAnswered && first?.asksOnly === true)
    return first !== undefined && first.plugin !== plugin && isSame
      ? { ...end, event: 'skip', output: alike(cause, first.plugin) }
      : end
  }
}
