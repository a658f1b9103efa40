import type { FromActor, ToActor } from '../engine/actor-messages.ts'
import type { ActorBody, Exit } from '../engine/actor-slot.ts'
import type { FromWorker, Opening, ToLane } from './lane-messages.ts'

/** The supervisor's end of a lane. */
interface LaneEnd {
  hear: (message: FromActor) => void
  readonly end: (exit: Exit) => void
}

/** A worker as its supervisor sees it: each of its lanes is an actor of the pool. */
export class LanedWorker {
  readonly #body: ActorBody
  readonly #most: number
  readonly #lanes = new Map<number, LaneEnd>()
  /** How many lanes it has had. */
  opened = 0
  /** Is no further lane to be opened in it? */
  #isFull = false

  /** @param most how many lanes it may have at once */
  constructor(body: ActorBody, most: number) {
    this.#body = body
    this.#most = most
    body.listen((message) => {
      if (message.type === 'note') this.#hear(message.note as FromWorker)
    })
    void body.gone.then(() => {
      this.#isFull = true
    })
  }

  get hasRoom(): boolean {
    return !this.#isFull && this.#lanes.size < this.#most
  }

  /** Opens a lane. When the worker is about to exit, that ends at once, with the worker. */
  open(opening: Opening): ActorBody {
    this.opened += 1
    const lane = this.opened
    const { owner, pid, kill } = this.#body
    const { promise: gone, resolve: end } = Promise.withResolvers<Exit>()
    void this.#body.gone.then(end)
    const ours: LaneEnd = { hear: () => {}, end }
    this.#lanes.set(lane, ours)
    this.#send({ lane, open: opening })
    const send = (order: ToActor) => this.#send({ lane, order })
    const listen = (hear: LaneEnd['hear']) => {
      ours.hear = hear
    }
    return { owner, pid, gone, send, listen, kill }
  }

  #send(note: ToLane): void {
    this.#body.send({ type: 'note', note })
  }

  #hear(note: FromWorker): void {
    const lane = 'line' in note ? [...this.#lanes.values()][0] : this.#lanes.get(note.lane)
    if ('line' in note) lane?.hear({ type: 'note', note: note.line })
    else if ('message' in note) lane?.hear(note.message)
    else {
      this.#isFull ||= note.isFull
      this.#lanes.delete(note.lane)
      lane?.end({ code: note.endedWith, signal: null, othersGoOn: true })
    }
  }
}
