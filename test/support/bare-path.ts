import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { NODE } from './program.ts'

/** Variables from vitest's main process to those that run test files: the original PATH, and our folder. */
const WHOLE_PATH = 'TEST_WHOLE_PATH'
const FOLDER = 'TEST_PROGRAMS'

/**
 * The programs on every machine that we support: a minimal Debian, with Node, npm and git. A test that needs others
 * requests them by name.
 */
const BARE = `
  awk basename bash cat chmod chown cp cut date dd df dirname du env expr false find flock git grep gzip head id kill
  ln ls mkdir mkfifo mktemp mount mv nice nohup npm npx nsenter printf prlimit pwd readlink realpath rm rmdir sed seq
  setpriv setsid sh sleep sort stat sync tail tar tee test timeout touch tr true truncate
  umount uname uniq unshare wc xargs yes`

/**
 * For vitest's globalSetup: sets a PATH with only the programs of a bare machine, so that no test depends on this one.
 * @returns restores the PATH
 */
export default function setup(): (() => void) | undefined {
  if (process.env[FOLDER] !== undefined) return undefined // Another project of the same run has done it.
  const whole = process.env['PATH'] ?? ''
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'abx-programs-'))
  chmodSync(folder, 0o755) // Some tests run as other users.
  const bare = join(folder, 'bare')
  mkdirSync(bare)
  for (const name of BARE.trim().split(/\s+/)) {
    const found = find(name, whole)
    if (found) symlinkSync(found, join(bare, name))
  }
  symlinkSync(NODE, join(bare, 'node'))
  Object.assign(process.env, { PATH: bare, [WHOLE_PATH]: whole, [FOLDER]: folder })
  return () => {
    process.env['PATH'] = whole
    rmSync(folder, { recursive: true, force: true })
  }
}

export interface Programs {
  /** A PATH that includes them. */
  readonly path: string
  /** `needs python3` when the machine has none: why a test is skipped, for its name. False when all are there. */
  readonly missing: string | false
}

/** Finds programs that a bare machine lacks, for a test that is about them. */
export function withPrograms(...names: readonly string[]): Programs {
  const { [WHOLE_PATH]: whole = '', [FOLDER]: folder = '', PATH: bare = '' } = process.env
  const extra = mkdtempSync(join(folder, 'more-'))
  chmodSync(extra, 0o755)
  const lacking = names.filter((name) => {
    const found = find(name, whole)
    if (found) symlinkSync(found, join(extra, name))
    return found === undefined
  })
  return { path: [extra, bare].join(delimiter), missing: lacking.length > 0 && `needs ${lacking.join(', ')}` }
}

function find(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((dir) => join(dir, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return statSync(file).isFile()
      } catch {
        return false
      }
    })
}
