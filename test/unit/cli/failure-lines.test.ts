import { describe, expect, it } from 'vitest'
import { uuidv7 } from '../../../src/base/ids.ts'
import { failureLines } from '../../../src/cli/failure-lines.ts'
import type { FailureGroup } from '../../../src/db/failures.ts'

const group = (host: string, pages: number): FailureGroup => ({
  cause: 'HTTP 404',
  host,
  pages,
  partial: 0,
  snapshot_ids: Array.from({ length: Math.min(pages, 5) }, () => uuidv7()),
  sealed_at: new Date(),
})

describe('what tries failed pages again', () => {
  const commandFor = (host: string, pages = 9) => failureLines([group(host, pages)], () => undefined)[0]!.command

  it('names a few pages, and many by their host', () => {
    expect(commandFor('a.example', 2)).toMatch(/^archivebox-ts snapshot retry --failed \w{8} \w{8}$/)
    expect(commandFor('a.example:8080')).toBe(
      'archivebox-ts snapshot list --outcome failed --host a.example:8080 | archivebox-ts snapshot retry --failed -',
    )
    expect(commandFor('')).not.toContain('--host')
  })

  it('is no command of the host', () => {
    const { host } = new URL("http://a$(id);b'`c`.com/")
    expect(commandFor(host)).toContain(` --host 'a$(id);b'\\''\`c\`.com' |`)
    expect(commandFor('[::1]:80')).toContain(" --host '[::1]:80' |")
  })
})
