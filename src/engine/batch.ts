/** The columns of a batch, sorted by id: batches lock rows in the same order, so they cannot deadlock. */
export function inOrder<T, const C extends readonly ((one: T) => unknown)[]>(
  batch: readonly T[],
  id: (one: T) => string,
  columns: C,
): { [K in keyof C]: ReturnType<C[K]>[] } {
  const sorted = batch.toSorted((a, b) => (id(a) < id(b) ? -1 : 1))
  return columns.map((column) => sorted.map(column)) as { [K in keyof C]: ReturnType<C[K]>[] }
}
