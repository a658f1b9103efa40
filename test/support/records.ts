import { expect } from 'vitest'
import type { TestHome } from './homes.ts'

export type Record = Readonly<{ [field: string]: unknown }> & { readonly type: string; readonly id: string }

/** Runs a verb that must succeed. @returns its output: one record per line */
export async function records(home: TestHome, args: readonly string[], input = ''): Promise<Record[]> {
  const { code, stdout, stderr } = await home.run(args, { input })
  expect(code, `${args.join(' ')}\n${stderr}`).toBe(0)
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record)
}

/** Records in the form for a pipe. */
export function lines(...all: readonly object[]): string {
  return all.map((record) => `${JSON.stringify(record)}\n`).join('')
}

/**
 * Runs a verb that must be refused: with this exit code, one line that gives the reason (and at most a hint), and
 * nothing on stdout.
 */
export async function refusal(
  home: TestHome,
  args: readonly string[],
  code: number,
  reason: RegExp,
  input = '',
): Promise<void> {
  const finished = await home.run(args, { input })
  expect(finished.code, `${args.join(' ')}\n${finished.stderr}`).toBe(code)
  expect(finished.stdout).toBe('')
  const said = finished.stderr.trim().split('\n')
  expect(said[0]).toMatch(/^error: /)
  expect(said[0]).toMatch(reason)
  expect(said.length, finished.stderr).toBeLessThanOrEqual(2)
}
