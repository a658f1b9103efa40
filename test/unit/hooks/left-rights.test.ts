import { spawnSync } from 'node:child_process'
import { chownSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { newFolder } from '../../support/folders.ts'
import { noOtherUser, OTHER_USER } from '../../support/other-user.ts'
import { NODE, ROOT } from '../../support/program.ts'

it.skipIf(noOtherUser)(`what a hook leaves without rights costs only that hook ${noOtherUser || ''}`, () => {
  const folder = newFolder()
  chownSync(folder, OTHER_USER.uid, OTHER_USER.gid)
  const argv = [join(ROOT, 'test/fixtures/left-rights.ts')]
  const { stdout, stderr } = spawnSync(NODE, argv, { ...OTHER_USER, cwd: folder, encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  expect(stderr).toBe('')
  const unreadable = (path: string) => `cannot publish its files: ${path} cannot be read: permission denied`
  expect(JSON.parse(stdout)).toEqual({
    ends: {
      published: ['succeed', '', true],
      secret: ['fail', unreadable('secret/deep/file'), true],
      closed: ['fail', expect.stringMatching(/: closed.deep.\w+ cannot be read/), true],
      shut: ['fail', unreadable('shut'), true],
      failed: ['fail', 'it ended with exit code 1', false],
    },
    dropped: [],
    afterwards: ['.attempts', 'published'],
    isDeleted: true,
    mode: 0o555,
  })
})
