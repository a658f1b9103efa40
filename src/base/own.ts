/**
 * The value that an object has itself under a name from elsewhere. Undefined for what it only inherits: every object
 * has a `constructor` and a `__proto__`. A table of our own is a Map instead.
 */
export function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** Sets a field with a name from elsewhere: assigned, one named `__proto__` would not become a field. */
export function put<T>(record: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true })
}
