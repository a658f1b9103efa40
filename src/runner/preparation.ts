import { type Containment, detectContainment, releaseContainment } from '../processes/containment/containment.ts'
import type { lead } from './lead.ts'
import type { RunOptions } from './options.ts'

/** What a leader has that a runner on its way to the gate does not need yet. */
export interface Prepared {
  readonly lead: typeof lead
  readonly containment: Containment
}

/** Gets ready what only a leader needs: in the time that an older runner takes to leave, it costs nobody anything. */
export class Preparation {
  readonly #options: RunOptions
  #prepared: Promise<Prepared> | undefined

  constructor(options: RunOptions) {
    this.#options = options
  }

  /** Begins, if nobody has; what goes wrong is reported to who waits for it. */
  begin(): void {
    this.#prepared ??= this.#prepare()
    this.#prepared.catch(() => {})
  }

  /** All of it. Throws UsageError for a containment that this machine does not offer. */
  async done(): Promise<Prepared> {
    this.begin()
    return await this.#prepared!
  }

  /** When the runner leaves. What cannot be released now, the next one sweeps. */
  async undo(): Promise<void> {
    await this.#prepared?.then(({ containment }) => releaseContainment(containment)).catch(() => {})
  }

  async #prepare(): Promise<Prepared> {
    const detected = detectContainment(this.#options.settings.config.CONTAINMENT, this.#options.id)
    const [containment, { lead }] = await Promise.all([detected, import('./lead.ts')])
    return { lead, containment }
  }
}
