import { UsageError } from '../../base/errors.ts'

/** Each is one condition of a statement; a server takes some 10,000. */
const MOST = 1_000

/** The parts of a comma-separated list, without duplicates. */
export function commaList(value: string | undefined): string[] {
  return [
    ...new Set(
      (value ?? '')
        .split(',')
        .map((item) => item.trim())
        .filter(Boolean),
    ),
  ]
}

/**
 * The names that an option lists: at least one, since none means an empty variable of a script. Throws UsageError, also
 * for more than a statement takes.
 */
export function namesOf(text: string, option: string): string[] {
  const names = commaList(text)
  if (names.length === 0) throw new UsageError(`${option} takes names, comma-separated, not "${text}"`)
  if (names.length > MOST) throw new UsageError(`${option} takes up to ${MOST} names, not ${names.length}`)
  return names
}
