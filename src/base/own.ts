/**
 * The value that an object itself has under an untrusted name. Undefined for what it only inherits: every object
 * has a `constructor` and a `__proto__`. A table of our own is a Map instead.
 */
export function own<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

/** Sets a field under an untrusted name: by assignment, `__proto__` would not become a field. */
export function put<T>(record: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true })
}
