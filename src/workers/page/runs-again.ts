import type { Hook } from '../../hooks/discover.ts'
import { isConsequence } from '../../machines/cause.ts'
import { isFinal, type ResultRow } from '../../machines/results.ts'

/** A hook of a page with its current result. */
interface HookOfPage {
  readonly hook: Pick<Hook, 'plugin' | 'name' | 'background' | 'requires' | 'readsPublished' | 'awaitsBackground'>
  readonly result: Pick<ResultRow, 'status' | 'output_str' | 'has_files'>
}

/**
 * Hooks with a final result that must run again, because what they worked on is gone: for example the tab that a
 * background hook had opened before it was interrupted, and that it opens anew.
 *
 * Background hooks without a final result start anew, and so does a daemon whose plugin an open hook requires. With it
 * run again: the foreground hooks of its plugin that come after it, which may have navigated; and those of plugins that
 * require it, if they left no files: they acted on the page itself, for example by scrolling. What others have saved
 * stays. A plugin with a background hook for the whole crawl counts as started anew, since nobody can tell whether it
 * is the same. The hashes are computed again, too. A hook that awaits the end of background hooks needs none of them to
 * run.
 * @param services plugins with a background hook for the whole crawl
 */
export function runsAgain<One extends HookOfPage>(all: readonly One[], services: ReadonlySet<string>): One[] {
  const again = new Set<One>()
  const hooks = all.map(({ hook }) => hook)
  const isOpen = (one: One) => !isFinal(one.result) || again.has(one)
  // Until a round finds no more: a hook that runs again has its own requirements.
  for (let before = -1; before < again.size; ) {
    before = again.size
    const open = all.filter(isOpen)
    const used = withRequired(
      hooks,
      open.flatMap(({ hook }) => (hook.awaitsBackground ? [] : hook.plugin)),
    )
    /** For each plugin that starts anew, the hook after which its own run again. */
    const begun = new Map<string, string>([...used].filter((plugin) => services.has(plugin)).map((name) => [name, '']))
    for (const { hook } of open)
      if (hook.background && hook.name < (begun.get(hook.plugin) ?? '~')) begun.set(hook.plugin, hook.name)
    const isAfter = (name: string, plugin: string) => name > (begun.get(plugin) ?? '~')
    for (const one of all) {
      const { plugin, name, background, requires, readsPublished } = one.hook
      if (isOpen(one) || isItsOwnChoice(one)) continue
      const isGone = background
        ? used.has(plugin) && name.split('.').includes('daemon')
        : isAfter(name, plugin) ||
          (!one.result.has_files && [...withRequired(hooks, requires)].some((required) => isAfter(name, required)))
      if (isGone || (readsPublished && open.length > 0)) again.add(one)
    }
  }
  return [...again]
}

/** Whether it was skipped for a reason that has nothing to do with other hooks. */
const isItsOwnChoice = ({ result }: HookOfPage) => result.status === 'skipped' && !isConsequence(result.output_str)

/** These plugins, and those that they require, directly or not. */
export function withRequired(
  all: readonly Pick<Hook, 'plugin' | 'requires'>[],
  plugins: readonly string[],
): Set<string> {
  const found = new Set(plugins)
  for (const plugin of found)
    for (const one of all) if (one.plugin === plugin) for (const required of one.requires) found.add(required)
  return found
}
