import { accessSync, constants, readlinkSync, statfsSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { messageOf } from '../../base/errors.ts'
import { uuidv7 } from '../../base/ids.ts'
import { textIn } from '../../base/if-readable.ts'
import { VERSION } from '../../base/version.ts'
import { chosenAccount } from '../../hooks/account.ts'
import { detectContainment } from '../../processes/containment/containment.ts'
import { type Check, type Finding, green, yellow } from './check.ts'

const MB = 1_000_000
/** What a browser takes for a heavy page; a runner with its workers and hooks takes about a third of it. */
const BROWSER_MB = 500
const RUNNER_MB = 150
/** The size that Docker gives; browsers need more. */
const SMALL_SHM_MB = 128
/** The limit that shells set; each page at work takes a few dozen. */
const DESCRIPTORS = 1_024
/** Two pages at once with a browser, its server included: 250 processes and threads were counted. */
const PROCESSES = 300

/** Checks of the machine that cost next to nothing. */
export const MACHINE_CHECKS: readonly Check[] = [
  { name: 'memory', look: memory },
  { name: '/dev/shm', look: sharedMemory },
  { name: 'descriptors', look: descriptors },
  { name: 'process limit', look: processLimit },
  { name: 'temporary files', look: temporaryFiles },
  { name: 'network', look: network },
]

export const OWN_CHECKS: readonly Check[] = [
  { name: 'node', look: () => green(`${process.versions.node} (${process.execPath})`) },
  { name: 'package', look: () => green(`archivebox-ts ${VERSION}`) },
]

/** How hooks' processes are contained; finding out starts some. */
export const CONTAINMENT_CHECK: Check = {
  name: 'containment',
  look: async ({ dataDir, settings }) => {
    const found = await detectContainment(settings.config.CONTAINMENT, uuidv7())
    const account = chosenAccount(dataDir, settings.config.HOOK_USER)
    if (account instanceof Error) return yellow(account.message, 'archivebox-ts config set HOOK_USER nobody')
    const as = account ? `; hooks and browsers run as user ${account.name}` : ''
    if (found.tier !== 'basic') return green(`${found.tier}${as}`)
    if (found.deathSignal)
      return green(`basic: sessions, marks, and the death signal; no control group is available here${as}`)
    return yellow('basic, without a death signal: setpriv is missing', 'apt-get install util-linux')
  },
}

function memory(): Finding {
  const free = Math.floor(process.availableMemory() / MB)
  if (free < RUNNER_MB) return yellow(`${free} MB free: too little, even without a browser`, 'free')
  return free < BROWSER_MB
    ? yellow(`${free} MB free: a browser takes ${BROWSER_MB} MB`, 'archivebox-ts config set MAX_SNAPSHOT_WORKERS 1')
    : green(`${free} MB free`)
}

function sharedMemory(): Finding {
  if (process.platform !== 'linux') return green('not needed here')
  try {
    const { blocks, bsize } = statfsSync('/dev/shm')
    const size = Math.floor((blocks * bsize) / MB)
    return size < SMALL_SHM_MB
      ? yellow(`${size} MB: browsers use temporary files instead`, 'docker run --shm-size=1g')
      : green(`${size} MB`)
  } catch {
    return yellow('missing: browsers use temporary files instead', 'mount -t tmpfs tmpfs /dev/shm')
  }
}

function descriptors(): Finding {
  const limit = /^Max open files\s+(\S+)/m.exec(textIn('/proc/self/limits'))?.[1]
  if (limit === undefined) return green('not known here')
  return Number(limit) < DESCRIPTORS
    ? yellow(`${limit} at most`, `ulimit -n ${4 * DESCRIPTORS}`)
    : green(`${limit} at most`)
}

/** Processes and threads, by the limits of the account and of the container. Where they end, programs abort. */
function processLimit(): Finding {
  const ofAccount = /^Max processes\s+(\d+)/m.exec(textIn('/proc/self/limits'))?.[1]
  // The kernel does not hold root to it.
  const limits = process.getuid?.() === 0 || ofAccount === undefined ? [] : [Number(ofAccount)]
  for (const file of ['/sys/fs/cgroup/pids.max', '/sys/fs/cgroup/pids/pids.max']) {
    const text = textIn(file).trim()
    if (/^\d+$/.test(text)) limits.push(Number(text))
  }
  if (limits.length === 0) return green('none')
  const limit = Math.min(...limits)
  return limit < PROCESSES
    ? yellow(
        `${limit} at most: a runner with a browser needs ${PROCESSES}`,
        'ulimit -u 4096, or docker run --pids-limit 4096',
      )
    : green(`${limit} at most`)
}

function temporaryFiles(): Finding {
  const folder = tmpdir()
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return green(folder)
  } catch (error) {
    return yellow(`${folder}: ${messageOf(error)}: no browser can start`, 'docker run --tmpfs /tmp, or set TMPDIR')
  }
}

/** Whether there is a way out, and whether the network is that of a container. */
function network(): Finding {
  const others = Object.values(networkInterfaces())
    .flat()
    .filter((each) => each && !each.internal)
  const whose = ownNetwork() ? ', in a separate network namespace' : ''
  if (others.length > 0)
    return green(
      `${others
        .map((each) => each?.address)
        .slice(0, 2)
        .join(', ')}${whose}`,
    )
  return yellow(`only this machine can be reached${whose}: pages of the network cannot be archived`, 'ip link')
}

/** Whether our network differs from that of the first process. Unknown where we may not look: no. */
function ownNetwork(): boolean {
  try {
    return readlinkSync('/proc/self/ns/net') !== readlinkSync('/proc/1/ns/net')
  } catch {
    return false
  }
}
