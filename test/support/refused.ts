import { expect } from 'vitest'
import type { Finished } from './program.ts'

/** Expects a refusal: exit code 2, a line for each reason and no others, no stack. */
export function expectRefused({ code, stdout, stderr }: Finished, ...reasons: readonly (string | RegExp)[]): void {
  expect(code, stderr).toBe(2)
  expect(stdout).toBe('')
  expect(stderr).not.toMatch(/^\s+at /m)
  const errors = stderr.split('\n').filter((line) => line.startsWith('error: '))
  for (const reason of reasons)
    expect(
      errors.filter((line) => (typeof reason === 'string' ? line.includes(reason) : reason.test(line))),
      `${reason} in ${stderr}`,
    ).toHaveLength(1)
  expect(errors, stderr).toHaveLength(reasons.length)
}
