import type { Hook } from '../../hooks/discover.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'
import { addResults } from '../../machines/prepare-results.ts'
import type { SnapshotClaim } from '../../machines/queues.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import { inRows, type OpenHook, pairsOf } from './hook-rows.ts'
import type { PageResults } from './page-results.ts'

/** What they need of the page in work. */
interface Work {
  readonly context: Pick<WorkerContext, 'owner'>
  readonly claim: SnapshotClaim
  readonly tree: WorkTree
  readonly results: PageResults
}

const STATICFILE = 'staticfile'

/**
 * The hooks of a page that work on the file that its URL is. They get results only when there is one: where hooks end
 * with nothing, as these would on nearly every page, they cost as much as others.
 */
export class LateHooks {
  readonly #work: Work
  #hooks: Hook[] = []

  constructor(work: Work) {
    this.#work = work
  }

  /** Notes those that have no results yet. */
  note(hooks: readonly Hook[], all: readonly OpenHook[]): void {
    this.#hooks = hooks.filter((hook) => hook.needsFile && !all.some((one) => one.hook === hook))
  }

  /** Is the URL a file, and have they not begun? */
  get areWanted(): boolean {
    return this.#hooks.length > 0 && this.#work.tree.hasFile(STATICFILE)
  }

  /** Adds their results once they are wanted. @returns the hooks, in rows */
  async add(): Promise<OpenHook[][]> {
    if (!this.areWanted) return []
    const hooks = this.#hooks.splice(0)
    const { context, claim, results } = this.#work
    await results.write()
    return inRows(pairsOf(hooks, await addResults(context.owner, claim, hooks)))
  }
}
