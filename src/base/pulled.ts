/**
 * Yields what `work` gives, one by one, as the reader asks for it. `give` returns once the reader has come back: true;
 * or has stopped: false, and then the reader waits for the end of `work`. Throws what `work` throws.
 */
export async function* pulled<T>(
  work: (give: (item: T) => Promise<boolean>) => Promise<void>,
): AsyncGenerator<T, void, void> {
  let given = Promise.withResolvers<{ readonly item: T } | undefined>()
  let back = Promise.withResolvers<boolean>()
  const done = work((item) => {
    back = Promise.withResolvers()
    given.resolve({ item })
    return back.promise
  }).finally(() => given.resolve(undefined))
  done.catch(() => {}) // Thrown below.
  try {
    for (let next = await given.promise; next; next = await given.promise) {
      given = Promise.withResolvers()
      yield next.item
      back.resolve(true)
    }
  } finally {
    back.resolve(false)
    await done
  }
}
