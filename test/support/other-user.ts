import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { NODE, ROOT } from './program.ts'

/** `nobody`, with its number on most systems. */
export const OTHER_USER = { uid: 65_534, gid: 65_534 }

/** Why no test can run as another user here: the reason to skip it, for its name. False when it can. */
export const noOtherUser: string | false =
  process.getuid?.() !== 0
    ? 'needs root, who can become somebody else'
    : spawnSync(NODE, [join(ROOT, 'src', 'base', 'version.ts')], { ...OTHER_USER, cwd: '/' }).status !== 0 &&
      'needs a checkout that every user can read'
