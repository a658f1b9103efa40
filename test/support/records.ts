import { expect } from 'vitest'
import type { TestHome } from './homes.ts'

export type Record = Readonly<{ [field: string]: unknown }> & { readonly type: string; readonly id: string }

/** What a verb that must succeed prints: one record a line. */
export async function records(home: TestHome, args: readonly string[], input = ''): Promise<Record[]> {
  const { code, stdout, stderr } = await home.run(args, { input })
  expect(code, `${args.join(' ')}\n${stderr}`).toBe(0)
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record)
}

/** Records as they go through a pipe. */
export function lines(...all: readonly object[]): string {
  return all.map((record) => `${JSON.stringify(record)}\n`).join('')
}

/** A verb that is refused: the exit code, one line that says why (and at most a hint), nothing on stdout. */
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
