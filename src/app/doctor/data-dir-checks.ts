import { chmodSync, constants, existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { closedPaths, FOLDERS, isDataDir, makeFolders, openDataDir, toOpen } from '../../base/data-dir.ts'
import { FILES_FLOOR, lacksBytes, left } from '../../base/disk-space.ts'
import { whyUnusable } from '../../base/make-folder.ts'
import { shellWord } from '../../base/words.ts'
import { type Check, type Examined, type Finding, green, red, yellow } from './check.ts'

const GB = 1_000_000_000
/** Below this many times DISK_FLOOR, the disk is nearly full. */
const NEAR = 5
/** A page takes a few dozen files. */
const FEW_INODES = 20_000

export const DATA_DIR_CHECKS: readonly Check[] = [
  { name: 'settings', look: settings },
  { name: 'data dir', look: dataDir },
  { name: 'disk', look: disk },
  { name: 'inodes', look: inodes },
]

function settings({ problems }: Examined): Finding {
  const [first] = problems.all
  if (!first) return green('all valid')
  const more = problems.all.length > 1 ? ` (and ${problems.all.length - 1} more)` : ''
  return red(`${first.message}${more}`, 'archivebox-ts config edit')
}

function dataDir({ dataDir: given }: Examined): Finding {
  const path = resolve(given)
  if (!isDataDir(path)) {
    const why = whyUnusable(path)
    if (why !== undefined) return red(why, 'archivebox-ts doctor --data-dir DIR')
    return {
      ...yellow(
        `${path} does not exist yet: add and run create it`,
        `archivebox-ts init --data-dir ${shellWord(path)}`,
      ),
      fix: async () => `created ${openDataDir(path, 'if-empty')}`,
    }
  }
  const missing = FOLDERS.map((name) => join(path, name)).filter((folder) => !existsSync(folder))
  const closed = closedPaths(path)
  if (closed.length > 0) {
    const { command, ours } = toOpen(path, closed)
    const finding = red(`${closed.join(', ')} cannot be written`, command)
    return ours ? { ...finding, fix: async () => open(closed) } : finding
  }
  if (missing.length > 0)
    return {
      ...yellow(`missing: ${missing.join(', ')}`, `mkdir ${missing.join(' ')}`),
      fix: async () => {
        makeFolders(path)
        return `created ${missing.join(', ')}`
      },
    }
  return green(path)
}

async function open(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const found = statSync(path)
    chmodSync(path, found.mode | (found.isDirectory() ? constants.S_IRWXU : constants.S_IRUSR | constants.S_IWUSR))
  }
  return `made ${paths.join(', ')} writable`
}

function disk(asked: Examined): Finding {
  const floor = asked.settings.config.DISK_FLOOR
  const folder = nearest(asked)
  const lack = lacksBytes(folder, floor)
  if (lack !== undefined) return red(lack, `du -xh ${folder} | sort -h | tail`)
  const free = `${(left(folder).bytes / GB).toFixed(1)} GB free`
  return lacksBytes(folder, NEAR * floor) === undefined
    ? green(free)
    : yellow(`${free}: below ${floor} MB (DISK_FLOOR) no page is started`, `du -xh ${folder} | sort -h | tail`)
}

function inodes(asked: Examined): Finding {
  const { files } = left(nearest(asked))
  if (!Number.isFinite(files)) return green('as many as needed')
  if (files < FILES_FLOOR) return red(`${files} files can be created: below ${FILES_FLOOR} no page is started`, 'df -i')
  return files < FEW_INODES ? yellow(`${files} files can be made`, 'df -i') : green(`${files} files can be made`)
}

/** The data dir, or the nearest existing folder above it. */
function nearest({ dataDir: given }: Examined): string {
  let folder = resolve(given)
  while (!existsSync(folder)) folder = join(folder, '..')
  return folder
}
