/** An item that was read ahead, and the rest. */
export async function* withHead<T>(head: T, rest: AsyncIterator<T>): AsyncGenerator<T> {
  yield head
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
}
