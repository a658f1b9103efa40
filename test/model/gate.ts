import type { Happening, Model } from './explore.ts'
import { type At, type Design, type Faults, leads, type Place, type Runner, type State } from './gate-state.ts'

/** The gate with a runner at each of these places, which start at any time in this order. */
export function gateModel(design: Design, places: readonly Place[], faults: Faults): Model<State> {
  const fresh: Runner = { at: 'off', os: 'gone', row: 'none', term: 0, older: [], asked: false, hook: false, flight: 0 }
  const start: State = {
    runners: places.map(() => fresh),
    term: 0,
    claim: -1,
    written: 0,
    stale: false,
    told: false,
    ...faults,
  }
  const all = places.map((_, index) => index)
  const seen = (a: number, b: number) => places[a]!.container === places[b]!.container
  const sameKernel = (a: number, b: number) => places[a]!.kernel === places[b]!.kernel

  /** May `me` take `other` for gone? Of another host it knows no more than that no heartbeat came. */
  const gone = ({ runners }: State, me: number, other: number) => {
    const { os, row } = runners[other]!
    if (row === 'closed' && (!seen(me, other) || !design.exitedWhenGone)) return true
    return seen(me, other) && design.osTruth ? os === 'gone' : os !== 'running'
  }
  const present = (state: State, me: number) =>
    all.filter(
      (other) => other !== me && ['waiting', 'leading'].includes(state.runners[other]!.row) && !gone(state, me, other),
    )

  const set = (state: State, changes: Readonly<Record<number, Partial<Runner>>>, rest: Partial<State> = {}): State => ({
    ...state,
    ...rest,
    runners: state.runners.map((runner, index) => (changes[index] ? { ...runner, ...changes[index] } : runner)),
  })
  const each = (indexes: readonly number[], change: (index: number) => Partial<Runner>) =>
    Object.fromEntries(indexes.map((i) => [i, change(i)]))
  // What nobody asks any more is forgotten: fewer states.
  const leave = (state: State, me: number) =>
    set(state, { [me]: { at: 'left', os: 'gone', row: 'closed', older: [], asked: false } })
  /** It has handed over, and waits until somebody newer leads. */
  const demoted: Partial<Runner> = { at: 'shutdown.demoted', row: 'standby', asked: false, older: [] }
  /** It is there, and in nobody's way. */
  const standsBy = (state: State, me: number, other: number) =>
    state.runners[other]!.row === 'standby' && !gone(state, me, other)

  /** What a runner that runs may do next. */
  function steps(state: State, me: number): { name: At; to: State }[] {
    const runner = state.runners[me]!
    const to = (
      at: At,
      more: Partial<Runner> = {},
      others: Record<number, Partial<Runner>> = {},
      rest: Partial<State> = {},
    ) => ({
      name: at,
      to: set(state, { ...others, [me]: { at, ...more } }, rest),
    })
    const here = present(state, me)
    const newer = here.some((other) => other > me)
    const local = runner.older.filter((other) => seen(me, other))
    // Somebody took it for dead and closed its row: it registers again, unless a newer one has led since.
    const registerAgain = () =>
      all.some((other) => other > me && state.runners[other]!.term > 0)
        ? [{ name: 'left' as const, to: leave(state, me) }]
        : [to('gate.registered', { row: 'waiting', asked: false })]
    const look = () => {
      if (runner.row === 'closed') return registerAgain()
      if (runner.asked || newer)
        return design.stays
          ? [{ name: 'shutdown.demoted' as const, to: set(state, { [me]: demoted }) }]
          : [{ name: 'left' as const, to: leave(state, me) }]
      return [to('gate.looked', { older: here.filter((other) => other < me) })]
    }
    const takeDataDir = () => {
      const holder = design.lock
        ? state.runners.find((other, index) => index !== me && sameKernel(me, index) && holdsLock(other))
        : undefined
      if (!holder) return [to('gate.locked')]
      // Held for too long by one that is not among the rows: a clear error, and no promotion.
      const unknown = here.every((other) => state.runners[other] !== holder)
      return [...look(), ...(unknown ? [{ name: 'left' as const, to: { ...leave(state, me), told: true } }] : [])]
    }
    // Who may have left something: those whose rows are open, and the last one here, if one led elsewhere since who
    // closed its row unseen.
    const untidy = () => {
      const led = all
        .filter((other) => other !== me && state.runners[other]!.term > 0)
        .sort((a, b) => state.runners[b]!.term - state.runners[a]!.term)
      const ledHere = led.filter((other) => seen(me, other) && state.runners[other]!.at !== 'left')
      const behind = led[0] !== undefined && !seen(me, led[0]) ? ledHere.slice(0, 1) : []
      return all.filter(
        (other) =>
          other !== me &&
          !standsBy(state, me, other) &&
          (['waiting', 'leading', 'standby'].includes(state.runners[other]!.row) || behind.includes(other)),
      )
    }
    switch (runner.at) {
      case 'gate.registered':
        return look()
      case 'gate.looked':
        return runner.older.length > 0
          ? [
              to(
                'gate.asked',
                {},
                each(runner.older, () => ({ asked: true })),
              ),
            ]
          : takeDataDir()
      case 'gate.asked': {
        const signalled = each(local, (other) => ({
          asked: state.runners[other]!.row !== 'standby', // It knows whose signal comes late.
          ...(design.force && state.runners[other]!.os === 'stopped' ? { os: 'running' } : {}),
          ...(design.exitedWhenGone ? {} : { row: 'closed' }),
        }))
        return [to('gate.signalled', {}, signalled)]
      }
      case 'gate.signalled':
      case 'gate.killed': {
        if (!design.wait) return takeDataDir()
        const inTheWay = (other: number) => !gone(state, me, other) && !standsBy(state, me, other)
        const left = runner.older.filter(inTheWay)
        const mayLook = newer || runner.asked
        // Where it sees their processes end, it does not read the rows again.
        if (left.length === 0) return [to('gate.older_gone'), ...(mayLook ? look() : [])]
        if (mayLook) return look()
        // The grace is over at any time: the model has no clock.
        const killed = each(local.filter(inTheWay), () => ({ os: 'gone', hook: false }))
        return design.force && left.some((other) => seen(me, other)) ? [to('gate.killed', {}, killed)] : []
      }
      case 'gate.older_gone':
        return takeDataDir()
      case 'gate.locked':
        // Somebody has come to the gate meanwhile.
        if (design.wait && here.length > 0) return look()
        return untidy().length === 0
          ? [to('gate.reaped')]
          : [
              to(
                'gate.leftovers_killed',
                {},
                design.reap
                  ? each(
                      untidy().filter((other) => seen(me, other)),
                      () => ({ hook: false }),
                    )
                  : {},
              ),
            ]
      case 'gate.leftovers_killed':
        return [
          to(
            'gate.backends_ended',
            {},
            design.endBackends
              ? each(
                  all.filter((other) => other < me),
                  () => ({ flight: 0 }),
                )
              : {},
          ),
        ]
      case 'gate.backends_ended':
        return [to('gate.reaped')]
      case 'gate.reaped': {
        if (runner.row === 'closed') return registerAgain()
        const dead = all.filter(
          (other) =>
            other !== me &&
            state.runners[other]!.row !== 'none' &&
            ((other < me && !standsBy(state, me, other)) || gone(state, me, other)),
        )
        if (
          design.index &&
          all.some((other) => state.runners[other]!.row === 'leading' && other !== me && !dead.includes(other))
        )
          return look()
        const closed = each(dead, () => ({ row: 'closed' }))
        const claim = design.requeue && dead.includes(state.claim) ? -1 : state.claim
        return [to('gate.promoted', { row: 'leading', term: state.term + 1 }, closed, { term: state.term + 1, claim })]
      }
      case 'gate.promoted': {
        if (runner.asked) return [to('shutdown.row_draining')]
        const mine = !design.fence || runner.term === state.term
        return mine && state.claim === -1 ? [to('claim.made', {}, {}, { claim: me })] : lostLead(state, me)
      }
      case 'claim.made':
        return runner.asked
          ? [to('shutdown.row_draining')]
          : [to('spawn.hook_spawned', { hook: true }), ...lostLead(state, me)]
      case 'spawn.hook_spawned':
        return [to('publish.hook_settling', { hook: false, flight: runner.term }), ...lostLead(state, me)]
      case 'publish.hook_settling':
        // A write that was cut off with its session is done again.
        return runner.flight === 0 ? [to(state.claim === me ? 'claim.made' : 'gate.promoted')] : []
      case 'shutdown.row_draining':
        return [to('shutdown.workers_gone', { hook: false }, {}, { claim: state.claim === me ? -1 : state.claim })]
      case 'shutdown.workers_gone':
        return design.stays
          ? [{ name: 'shutdown.demoted', to: set(state, { [me]: demoted }) }]
          : [to('shutdown.row_closed', { row: 'closed' })]
      case 'shutdown.demoted':
        if (runner.row === 'closed') return registerAgain()
        if (here.some((other) => other > me && state.runners[other]!.row === 'leading'))
          return [to('shutdown.row_closed', { row: 'closed' })]
        return newer ? [] : [to('gate.registered', { row: 'waiting', asked: false })]
      case 'shutdown.row_closed':
        return [{ name: 'left', to: leave(state, me) }]
      default:
        return []
    }
  }

  /** The heartbeat says that another term began: end what we started, and go. */
  function lostLead(state: State, me: number): { name: At; to: State }[] {
    const lost = state.runners[me]!.term !== state.term || state.runners[me]!.row === 'closed'
    return lost
      ? [{ name: 'left', to: set(leave(state, me), { [me]: { ...leave(state, me).runners[me], hook: false } }) }]
      : []
  }

  /** The database carries out a write that it was sent. */
  function land(state: State, me: number): State {
    const { flight } = state.runners[me]!
    const accepted = design.fence ? state.claim === me && flight === state.term : true
    const stale = accepted && flight !== state.term
    return set(
      state,
      { [me]: { flight: 0 } },
      accepted ? { claim: state.claim === me ? -1 : state.claim, written: state.term, stale } : {},
    )
  }

  return {
    start,
    next(state) {
      const happenings: Happening<State>[] = []
      for (const me of all) {
        const { at, os, hook, flight } = state.runners[me]!
        const happens = (name: string, to: State, fault = false) =>
          happenings.push({ name: `${me}: ${name}`, to, fault })
        if (at === 'off' && (me === 0 || state.runners[me - 1]!.at !== 'off'))
          happens(
            'gate.registered',
            set(state, { [me]: { at: 'gate.registered', os: 'running', row: 'waiting' } }),
            true,
          )
        if (flight > 0) happens('its write lands', land(state, me))
        if (os === 'running') for (const { name, to } of steps(state, me)) happens(name, to)
        if (os !== 'gone' && state.crashes > 0)
          happens(
            'kill -9',
            set(state, { [me]: { os: 'gone', older: [], asked: false } }, { crashes: state.crashes - 1 }),
            true,
          )
        if (os === 'running' && at.startsWith('gate.') && at !== 'gate.promoted' && state.crashes > 0)
          happens('Ctrl-C', { ...leave(state, me), crashes: state.crashes - 1 }, true)
        if (os === 'running' && state.pauses > 0)
          happens('SIGSTOP', set(state, { [me]: { os: 'stopped' } }, { pauses: state.pauses - 1 }), true)
        if (os === 'stopped') happens('SIGCONT', set(state, { [me]: { os: 'running' } }), true)
        if (os === 'gone' && hook) happens('the guardian ends its hook', set(state, { [me]: { hook: false } }), true)
      }
      return happenings
    },
    broken({ runners, stale }) {
      if (stale) return 'a stale write was accepted'
      for (const a of all) {
        for (const b of all.filter((other) => other > a && sameKernel(a, other))) {
          if (seen(a, b) && runners[a]!.hook && runners[b]!.hook) return 'two hooks of one page at once'
          if (leads(runners[a]!) && leads(runners[b]!)) return 'two work loops at once'
        }
      }
      return undefined
    },
    // An older one makes way for the newest, and goes on when that is gone before it led.
    alive: ({ runners }) => {
      const newest = runners.findLast(({ os }) => os !== 'gone')
      return newest !== undefined && newest.os === 'running' && newest.row !== 'closed'
    },
    done: ({ runners, term, written, told }) =>
      told ||
      (written === term && runners.some((runner) => leads(runner) && runner.os === 'running' && runner.term === term)),
  }
}

/** It has the data dir's lock: from `locked` on until nothing of it works any more. */
function holdsLock(runner: Runner): boolean {
  const { at, os } = runner
  return (
    leads(runner) ||
    (os !== 'gone' &&
      (at === 'gate.locked' ||
        at === 'gate.leftovers_killed' ||
        at === 'gate.backends_ended' ||
        at === 'gate.reaped' ||
        at === 'shutdown.workers_gone'))
  )
}
