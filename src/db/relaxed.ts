import { sql } from 'kysely'
import { RELAXED as TEXT } from '../engine/relaxed.ts'

/**
 * Among what a statement returns: on a server of our own, the commit of its transaction does not wait for the disk.
 *
 * Work that a power cut undoes is repeated by its next owner, so of a page only the commit of the seal waits, and
 * flushes all earlier ones. When the server alone dies, the worker continues after such a loss: so the seal checks that
 * nothing is missing, and no hook runs before the claim of its page, and the start of its crawl, is on disk, by the
 * seal of the page before or by `prepareResults`: a server that had forgotten it would give the page to a second worker
 * while the first works.
 */
export const RELAXED = sql<string>`${sql.raw(TEXT)}`
