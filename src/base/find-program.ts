import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/**
 * The absolute path of a program: `name` itself when it is a path, else the first executable file of that name in
 * `path` (PATH).
 * @param unusable paths that do not count
 */
export function findProgram(
  name: string,
  path: string | undefined,
  unusable: ReadonlySet<string> = new Set(),
): string | undefined {
  const places = isAbsolute(name)
    ? [name]
    : (path ?? '').split(delimiter).flatMap((dir) => (isAbsolute(dir) ? join(dir, name) : []))
  return places.find((place) => !unusable.has(place) && isExecutable(place))
}

/** Whether this file can be executed. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
