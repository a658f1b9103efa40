import { sleep } from '../../base/abort.ts'
import type { FromActor, ToActor } from '../../engine/actor-messages.ts'
import type { ActorBody, Exit } from '../../engine/actor-slot.ts'
import { ARE_YOU_HERE, type FromWorker, type Opening, type ToWorker } from './lane-messages.ts'

/** A worker that does not answer for this long gets no further lane; but one that is only slow may, later. */
const ANSWER_MS = 1_000

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
  /** Resolves when its row says which process it is. */
  readonly recorded: Promise<void>
  #opened = 0
  /** Whether it takes no further lane. */
  #isFull = false
  /** Whether it has sent anything yet. */
  #hasBegun = false
  /** Whether a question is unanswered. It still has that, and answers when it can. */
  #isSilent = false
  /** The open question. */
  #asking: Promise<void> | undefined
  #onMessage = () => {}

  /** @param most how many lanes it may have at once */
  constructor(body: ActorBody, most: number, recorded: Promise<void>) {
    this.#body = body
    this.#most = most
    this.recorded = recorded
    body.listen((message) => {
      this.#hasBegun = true
      this.#isSilent = false
      this.#onMessage()
      if (message.type === 'note') this.#hear(message.note as FromWorker)
    })
    void body.gone.then(() => {
      this.#isFull = true
    })
  }

  /**
   * Whether another lane can be opened in it now. Not if it does not answer: due work would wait for it, while another
   * worker could be started. Its answer is awaited once.
   */
  async hasRoom(): Promise<boolean> {
    const isRoomy = () => !this.#isFull && this.#lanes.size < this.#most
    if (!isRoomy() || !this.#hasBegun) return isRoomy()
    if (this.#isSilent) return false
    // One question for all callers: another one would take its answer.
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    await this.#asking
    return !this.#isSilent && isRoomy()
  }

  async #ask(): Promise<void> {
    const answered = new AbortController()
    this.#onMessage = () => answered.abort()
    this.#send(ARE_YOU_HERE)
    await sleep(ANSWER_MS, answered.signal)
    this.#isSilent = !answered.signal.aborted
  }

  /** Opens a lane. When the worker is about to exit, that ends at once, with the worker. */
  open(opening: Opening): ActorBody {
    this.#opened += 1
    const lane = this.#opened
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

  #send(note: ToWorker): void {
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
