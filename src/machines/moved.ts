import { type RawBuilder, sql } from 'kysely'
import { type Birth, type BirthEach, born, bornEach } from '../engine/born.ts'
import type { Machine, State } from '../engine/machine.ts'
import { type EachMove, type Move, moved, movedEach } from '../engine/moved.ts'
import { woken } from '../engine/woken.ts'

// The engine's parts of statements (`../engine/moved.ts`), for statements that are written with Kysely.

type Part = RawBuilder<unknown>

/** A text of the engine, for Kysely. */
export const woven = (parts: readonly (string | Part)[]): Part =>
  sql.join(
    parts.map((part) => (typeof part === 'string' ? sql.raw(part) : part)),
    sql.raw(''),
  )

export const movedRows = <M extends Machine, const S extends State<M>>(machine: M, move: Move<M, S, Part>): Part =>
  woven(moved(machine, move))

export const movedEachRow = (machine: Machine, move: EachMove<Part>): Part => woven(movedEach(machine, move))

export const bornRows = <M extends Machine>(machine: M, birth: Birth<M, Part>): Part => woven(born(machine, birth))

export const bornEachRow = (machine: Machine, birth: BirthEach<Part>): Part => woven(bornEach(machine, birth))

export const wokenRows = <M extends Machine>(machine: M, how: Parameters<typeof woken<M, Part>>[1]): Part =>
  woven(woken(machine, how))

/** Nobody in particular: people, through their commands. */
export const NOBODY = sql`null`

/** The ids, for `rows`. */
export const idsOf = (ids: readonly string[]): Part => sql`${ids}::uuid[]`
