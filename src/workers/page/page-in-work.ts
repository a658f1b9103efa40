import type { Texts } from '../../base/config.ts'
import type { Context } from '../../engine/handlers.ts'
import type { Hook } from '../../hooks/discover.ts'
import type { HookScope } from '../../hooks/launch.ts'
import type { WorkTree } from '../../hooks/work-tree.ts'
import type { HookRetries } from '../../machines/archive-result.ts'
import type { CrawlOfPage } from '../../machines/before-page.ts'
import type { SnapshotClaim } from '../../machines/queues.ts'
import type { HookSequence } from '../sequence/hook-sequence.ts'
import type { WorkerContext } from '../supervise/worker-context.ts'
import type { CrawlServices } from './crawl-services.ts'
import type { Findings } from './findings.ts'
import type { PageResults } from './page-results.ts'

/** The tools for the work on one page. Its state is in its `PageState`. */
export interface PageInWork {
  readonly context: WorkerContext
  readonly claim: SnapshotClaim
  readonly crawl: CrawlOfPage
  /** Its signal aborts when all work must stop: on force, when the lease is lost, when the time is over. */
  readonly tick: Context
  /** The page's own settings, as given. */
  readonly settings: Texts
  readonly hooks: readonly Hook[]
  readonly scope: HookScope
  readonly sequence: HookSequence
  readonly tree: WorkTree
  readonly results: PageResults
  readonly services: CrawlServices
  readonly findings: Findings
  readonly retries: HookRetries
}
