import type { Hook } from '../../hooks/discover.ts'
import { archiveResultMachine } from '../../machines/archive-result.ts'
import { busyIn } from '../../machines/busy.ts'
import { causeOf } from '../../machines/cause.ts'
import type { ResultRow } from '../../machines/results.ts'
import { type Fact, type HookOfPage, type HookState, hookOf, type PageState, type Told } from './page-state.ts'

/** The page after a fact. */
export function after(state: PageState, fact: Fact): PageState {
  switch (fact.what) {
    case 'stop':
      return { ...state, stop: fact.stop }
    case 'former ended':
      return { ...state, former: [] }
    case 'allowed':
      return { ...state, stage: 'asked', putOffMs: fact.putOffMs }
    case 'refused':
      return { ...state, stage: 'asked', whyNot: fact.whyNot, ...(fact.whyNot.kind === 'beyond' && { hooks: [] }) }
    case 'repeated': {
      const again = (one: HookState) => fact.hooks.some(({ hook }) => hook === one.hook)
      const hooks = state.hooks.map((one) => (again(one) ? repeated(one as HookOfPage) : one))
      return { ...state, hooks: withAsides(hooks), gone: [], hidden: { ...state.hidden, ...fact.files } }
    }
    case 'opened':
      return { ...state, stage: 'open', hooks: state.hooks.map((one) => (one.at === 'logged' ? open(one) : one)) }
    case 'file':
      return { ...state, isFile: fact.isThere }
    case 'late added':
      return { ...state, hooks: state.hooks.map((one) => (one.at === 'late' ? withRow(one, fact.rows) : one)) }
    case 'shared':
      return { ...state, isShared: true }
    case 'running':
      return changed(state, fact.hook, (one) => ({ ...one, at: 'running' }))
    case 'exited':
      return fact.hooks.reduce((so, hook) => changed(so, hook, open), state)
    case 'ended':
      return ended(state, fact)
    case 'ended unrun':
      return changed(state, fact.hook, (one) => withEnd(state, one, fact))
    case 'in vain':
      return changed(state, fact.hook, open)
    case 'services':
      return { ...state, service: fact.areLost ? 'lost' : 'well' }
  }
}

/** A hook that has run. If it had ended before, that is no progress: such a page must be given up some day. */
function ended(state: PageState, fact: Extract<Fact, { what: 'ended' }>): PageState {
  const { hook, end } = fact
  const own = hookOf(state, hook)
  const isEnd = end.event !== 'interrupt' && end.event !== 'delay' && end.event !== 'wait'
  const isInNeed = (end.event === 'fail' || hook.background) && own.needsService
  // The later hooks of its job ran without it.
  const isDoubtful = isEnd && (isInNeed || state.service !== 'well')
  return {
    ...changed(state, hook, (one) => withEnd(state, isDoubtful ? { ...one, isDoubtful } : one, fact)),
    service: isDoubtful && end.event === 'fail' && state.service === 'well' ? 'doubtful' : state.service,
    wasCutOff: state.wasCutOff || end.event === 'interrupt',
    hasProgressed: state.hasProgressed || ((isEnd || end.event === 'delay') && !own.isRepeated),
  }
}

function withEnd(
  state: PageState,
  one: HookState,
  { end: { event, output, json }, waitMs }: { readonly end: Told; readonly waitMs?: number | undefined },
): HookState {
  if (event === 'interrupt') return open(one)
  if (event === 'wait') return { ...open(one), isWaiting: true }
  if (event === 'delay') return { ...one, at: 'postponed', waitMs: waitMs ?? 0 }
  const place = 1 + Math.max(-1, ...state.hooks.map(({ end }) => end?.place ?? -1))
  const end = {
    ...{
      status: archiveResultMachine.states.started.on[event],
      output,
      cause: event === 'fail' ? causeOf(one.hook.plugin, output) : undefined,
    },
    ...{ place, isEarlier: false, isAside: isAside(state, one.hook), isBusy: busyIn(json) !== undefined },
  }
  return { ...one, at: 'ended', end }
}

const open = (one: HookState): HookState => ({ ...one, at: 'open' })

function repeated({ end: _end, isLost: _lost, isDoubtful: _doubtful, ...one }: HookOfPage): HookOfPage {
  return { ...one, at: 'open', isRepeated: true, result: { ...one.result, status: 'queued' } }
}

function changed(state: PageState, hook: Hook, change: (one: HookState) => HookState): PageState {
  return { ...state, hooks: state.hooks.map((one) => (one.hook === hook ? change(one) : one)) }
}

/** A hook with its row, if there is one. */
export function withRow(one: HookState, rows: readonly ResultRow[]): HookState {
  const result = rows.find(({ plugin, hook_name }) => plugin === one.hook.plugin && hook_name === one.hook.name)
  return result ? { ...one, result, at: 'open' } : { ...one, at: 'late' }
}

/** Whether an earlier background hook of its plugin is running beside this one. */
const isAside = (state: PageState, hook: Hook): boolean =>
  hook.background && state.hooks.some(({ at, hook: other }) => at === 'running' && isBefore(other, hook))

const isBefore = (other: Hook, { plugin, name }: Hook) => other.plugin === plugin && other.name < name

/** The same for earlier rounds, as far as rows tell. */
export function withAsides(hooks: readonly HookState[]): readonly HookState[] {
  const ranBeside =
    ({ hook }: HookState) =>
    (other: HookState) =>
      other.hook.background && isBefore(other.hook, hook) && (other.end?.status ?? 'succeeded') === 'succeeded'
  return hooks.map((one) => {
    if (!one.end?.isEarlier || !one.hook.background) return one
    return { ...one, end: { ...one.end, isAside: hooks.some(ranBeside(one)) } }
  })
}
