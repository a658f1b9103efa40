// The intervals by which runners know of each other. They depend on each other: a runner stops trusting its lead before
// any other may take it for dead.

/** How often a runner writes its heartbeat. */
export const BEAT_MS = 5_000

/**
 * How long a leader trusts its lead without an answer from the database, on the monotonic clock, from before the query.
 * A leader that was silent for longer has stopped all work, or will when it resumes.
 */
export const TRUST_MS = 25_000

/**
 * A process that cannot be seen from here counts as alive while its heartbeat is this fresh, by the database's clock.
 */
export const UNSEEN_SECONDS = 30
