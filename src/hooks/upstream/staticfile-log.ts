import {
  closeSync,
  constants,
  fchmodSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { mimeOf } from '../../base/mime.ts'

/** The work tree of a page. */
interface Tree {
  readonly work: string
  dirFor(plugin: string): string
}

/** What a hook has printed: text, or the file that it is in. */
interface Printed {
  readonly logs: { readonly stdout: string }
  readonly stdout?: string | undefined
}

const STATICFILE = 'staticfile'
const HEAD_BYTES = 1024
/** No file of these kinds begins like a page. */
const NO_PAGE = /^(image|audio|video)\/|\/(pdf|zip)$/
const BEGINS_LIKE_A_PAGE = /^\s*<(!doctype\s+html|html)\b/i

/**
 * Upstream's plugins look into staticfile's stdout.log, by that name, to see whether it has already saved the page. It
 * exists for them only, and is never published. It is missing when the file that staticfile names is not what it should
 * be: for a PDF, Chrome returns the page of its viewer, and the others must save the PDF itself.
 * @param said the file that the plugin names, below the page's folder
 */
export function keepStaticfileLog(tree: Tree, plugin: string, { logs, stdout }: Printed, said: string): void {
  if (plugin !== STATICFILE) return
  dropStaticfileLog(tree, plugin) // The hook may have put a link there.
  if (isPageByMistake(join(tree.work, said))) return
  const printed = stdout ?? readFileSync(logs.stdout)
  const fd = openSync(placeIn(tree), 'wx')
  try {
    writeFileSync(fd, printed)
    fchmodSync(fd, 0o644) // Hooks may be another account's; the log itself is ours.
  } finally {
    closeSync(fd)
  }
}

/** Removes it before the plugin's files are published. */
export function dropStaticfileLog(tree: Tree, plugin: string): void {
  if (plugin === STATICFILE) rmSync(placeIn(tree), { recursive: true, force: true })
}

const placeIn = (tree: Tree) => join(tree.dirFor(STATICFILE), 'stdout.log')

/** Whether a file begins like a page although its name promises something else. */
function isPageByMistake(file: string): boolean {
  if (!NO_PAGE.test(mimeOf(file)) || !statSync(file, { throwIfNoEntry: false })?.isFile()) return false
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    return BEGINS_LIKE_A_PAGE.test(head.toString('latin1', 0, readSync(fd, head)))
  } finally {
    closeSync(fd)
  }
}
