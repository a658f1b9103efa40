import type { World } from './world.ts'

/**
 * What a fault may go by: `pick`, from 0 to 1, chooses among those that it may hit; `ms` is how long it lasts, from 300
 * to 8,000.
 */
export interface Chance {
  readonly pick: number
  readonly ms: number
}

/**
 * One kind of fault: how often it happens beside the others, and how it is done. It answers with what it did, in a few
 * words.
 */
export interface Kind {
  readonly weight: number
  readonly inflict: (world: World, chance: Chance) => string | Promise<string>
}
