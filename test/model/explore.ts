/** A system as its states and what may happen in each. States are plain data. */
export interface Model<S> {
  readonly start: S
  /** Everything that may happen next. */
  next(state: S): readonly Happening<S>[]
  /** What must never be, in words; undefined when all is well. */
  broken(state: S): string | undefined
  /** Is somebody there who could still get the work done? Then a way to `done` must be left. */
  alive(state: S): boolean
  done(state: S): boolean
}

export interface Happening<S> {
  readonly name: string
  /** It need not happen: a crash, a pause, the end of a pause. Nobody may count on it. */
  readonly fault?: boolean
  readonly to: S
}

export interface Explored {
  readonly states: number
  /** The first thing that must not be, and the shortest way to it. */
  readonly trouble: string | undefined
  readonly way: readonly string[]
}

/** Far more than any way has that comes to an end. */
const WALK_STEPS = 500
/** How often a fault is chosen where there is a choice. */
const FAULT_SHARE = 0.1

interface Node<S> {
  readonly state: S
  readonly from: number
  readonly by: string
}

/** Visits every state that can be reached, nearest first. */
export function explore<S>(model: Model<S>): Explored {
  const nodes: Node<S>[] = [{ state: model.start, from: -1, by: '' }]
  const known = new Map([[JSON.stringify(model.start), 0]])
  /** Who leads to a state without a fault. */
  const before: number[][] = [[]]
  for (let at = 0; at < nodes.length; at += 1) {
    const { state } = nodes[at]!
    const trouble = model.broken(state)
    if (trouble) return { states: nodes.length, trouble, way: wayTo(nodes, at) }
    for (const { name, fault, to } of model.next(state)) {
      const key = JSON.stringify(to)
      let target = known.get(key)
      if (target === undefined) {
        target = nodes.push({ state: to, from: at, by: name }) - 1
        known.set(key, target)
        before.push([])
      }
      if (!fault) before[target]!.push(at)
    }
  }
  const stuck = firstStuck(model, nodes, before)
  if (stuck < 0) return { states: nodes.length, trouble: undefined, way: [] }
  return { states: nodes.length, trouble: 'stuck', way: wayTo(nodes, stuck) }
}

/** Goes so many random ways, each until nothing can happen any more: what `explore` has no room for, by chance. */
export function wander<S>(model: Model<S>, random: { next(): number }, walks: number): Explored {
  let states = 0
  for (let walk = 0; walk < walks; walk += 1) {
    const way: string[] = []
    let state = model.start
    for (let steps = 0; steps < WALK_STEPS; steps += 1) {
      states += 1
      const trouble = model.broken(state)
      if (trouble) return { states, trouble, way }
      const happening = oneOf(model.next(state), random)
      if (!happening) break
      way.push(happening.name)
      state = happening.to
    }
  }
  return { states, trouble: undefined, way: [] }
}

/** Mostly what must happen: faults at every turn lead nowhere that is interesting. */
function oneOf<S>(all: readonly Happening<S>[], random: { next(): number }): Happening<S> | undefined {
  const wanted = random.next() < FAULT_SHARE
  const some = all.filter(({ fault }) => (fault === true) === wanted)
  const from = some.length > 0 ? some : all
  return from[Math.floor(random.next() * from.length)]
}

/**
 * Can somebody (`who: ` in the names of what happens) take exactly these steps, in this order, whatever the others do
 * meanwhile?
 * @returns the steps up to the first that cannot be taken; all of them when each can
 */
export function stepsTaken<S>(model: Model<S>, who: string, steps: readonly string[]): string[] {
  let states = [model.start]
  const taken: string[] = []
  for (const step of steps) {
    states = meanwhile(model, states, who).flatMap((state) =>
      model
        .next(state)
        .filter(({ name }) => name === `${who}: ${step}`)
        .map(({ to }) => to),
    )
    if (states.length === 0) break
    taken.push(step)
  }
  return taken
}

/** Every state that others can lead to. */
function meanwhile<S>(model: Model<S>, from: readonly S[], who: string): S[] {
  const known = new Map(from.map((state) => [JSON.stringify(state), state]))
  // A map goes on to what is added to it while it is walked through.
  for (const state of known.values())
    for (const { name, to } of model.next(state)) if (!name.startsWith(`${who}: `)) known.set(JSON.stringify(to), to)
  return [...known.values()]
}

/** The nearest state with somebody alive from which no way without faults leads to the work being done. */
function firstStuck<S>(model: Model<S>, nodes: readonly Node<S>[], before: readonly number[][]): number {
  const hopeful = new Set<number>()
  const queue: number[] = []
  const add = (index: number) => {
    if (!hopeful.has(index)) {
      hopeful.add(index)
      queue.push(index)
    }
  }
  for (const [index, { state }] of nodes.entries()) if (model.done(state)) add(index)
  for (let index = queue.pop(); index !== undefined; index = queue.pop())
    for (const former of before[index]!) add(former)
  return nodes.findIndex(({ state }, index) => model.alive(state) && !hopeful.has(index))
}

function wayTo<S>(nodes: readonly Node<S>[], index: number): string[] {
  const way: string[] = []
  for (let node = nodes[index]!; node.from >= 0; node = nodes[node.from]!) way.unshift(node.by)
  return way
}
