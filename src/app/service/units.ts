import { join } from 'node:path'
import { CONFIG_FILE } from '../../base/config-file.ts'
import { EXIT } from '../../base/errors.ts'
import { DATABASE_UNIT } from '../../runner/outage-monitor.ts'
import { unitCommand, unitText, unitWord } from './unit-words.ts'

/** What the units of a data dir are written from. */
export interface UnitValues {
  /** The name of the runner's unit, without its ending. */
  readonly name: string
  readonly dataDir: string
  /** The cluster of the embedded database; undefined: the database is somebody else's. */
  readonly cluster: string | undefined
  /** The command that is this program: Node and its script. */
  readonly program: readonly string[]
  /** For the service manager of one user, and not of the machine. */
  readonly isUsers: boolean
  /** The account to run as; undefined: as whoever the service manager runs as. */
  readonly user: string | undefined
  /** Where the data dir and its database lie: each may be the place of a disk. */
  readonly places: readonly string[]
  /** Where backups go, if that is elsewhere. The service does without. */
  readonly backups: string | undefined
  /** `STOP_SECONDS` */
  readonly stopSeconds: number
  /** Whether systemd can be told how the runner is. */
  readonly canNotify: boolean
}

/** A unit: its file's name, and its content. */
export interface Unit {
  readonly file: string
  readonly text: string
}

/** A key and its value; undefined: it is not written. */
type Line = readonly [key: string, value: string | undefined]

/** What a runner needs beyond `STOP_SECONDS` at most, to kill and to write. */
const AFTER_STOP_SECONDS = 10
/** A leader's loop comes round every 5 s. */
const WATCHDOG_SECONDS = 120
/** What cannot start may be tried for days: seldom enough for its log, and often enough to be back soon. */
const RESTART_SECONDS = 10
/** A recovery after a loss of power, or a migration, may take this long. */
const LONGEST_START_SECONDS = 3_600

/**
 * Starts another runner beside the old one, and waits until that has handed over and exited. When the new one ends
 * first, the old one goes on, and the reload has failed.
 */
const RELOAD =
  'new=$("$@" >&2 & echo $!); while kill -0 $new && kill -0 $MAINPID; do sleep 0.1; done 2>/dev/null; kill -0 $new'

/** Renders the units of a data dir: that of its database where this is ours, and that of the runner. */
export function unitsFor(values: UnitValues): Unit[] {
  const { cluster, name } = values
  const runner = { file: `${name}.service`, text: runnerUnit(values) }
  if (cluster === undefined) return [runner]
  return [{ file: databaseFile(name), text: databaseUnit(values, cluster) }, runner]
}

/** The first line of the units of a data dir, by which they are known as ours. */
export function markOf(dataDir: string): string {
  return `# Written by archivebox-ts service install, for ${unitWord(dataDir)}`
}

/** Whether we wrote this unit, for whichever data dir. */
export const isOurs = (text: string): boolean => text.startsWith(markOf('').slice(0, -2))

/** The files that units of this name may have. */
export const filesOf = (name: string): string[] => [`${name}.service`, databaseFile(name)]

const configOf = (dataDir: string): string => join(dataDir, CONFIG_FILE)

const databaseFile = (name: string): string => `${name}-db.service`

function runnerUnit(values: UnitValues): string {
  const { name, cluster, program, dataDir, places, stopSeconds, canNotify, isUsers } = values
  const run = [...program, '--data-dir', dataDir, 'run', '--stay', '--daemon']
  const database = cluster === undefined ? undefined : databaseFile(name)
  const others = [database, ...(isUsers ? [] : ['network-online.target'])].filter(Boolean).join(' ')
  const whenNotified = (value: string) => (canNotify ? value : undefined)
  return unitOf(values, {
    Unit: [
      ['Description', `archivebox-ts: archives web pages into ${unitText(dataDir)}`],
      ['Wants', others || undefined],
      ['After', others || undefined],
      ['RequiresMountsFor', places.map(unitWord).join(' ')],
      ['StartLimitIntervalSec', '0'],
    ],
    Service: [
      ['Type', canNotify ? 'notify' : 'exec'],
      ['NotifyAccess', whenNotified('all')],
      // An empty folder may be the place of a disk that comes later: no new archive is made there.
      ['ExecStartPre', unitCommand(['test', '-e', configOf(dataDir)])],
      ['ExecStart', unitCommand(run)],
      ['ExecReload', whenNotified(unitCommand(['/bin/sh', '-c', RELOAD, 'reload', ...run]))],
      ['WatchdogSec', whenNotified(String(WATCHDOG_SECONDS))],
      // systemd does not tell this to a runner that a reload starts.
      ['Environment', whenNotified(`WATCHDOG_USEC=${WATCHDOG_SECONDS}000000`)],
      ['Environment', `STOP_SECONDS=${stopSeconds}`],
      ['Environment', database && `${DATABASE_UNIT}=${database}`],
      ['TimeoutStopSec', String(stopSeconds + AFTER_STOP_SECONDS)],
      ['TimeoutStartSec', String(LONGEST_START_SECONDS)],
      ['Restart', 'on-failure'],
      // Whatever the exit code: the name of a database may be unknown only until the network is complete.
      ['RestartSec', String(RESTART_SECONDS)],
      // It was told to stop before it had a database.
      ['SuccessExitStatus', String(EXIT.interrupted)],
      ['KillMode', 'mixed'],
      ['Delegate', 'yes'],
      ...mayNot(values, { families: 'AF_UNIX AF_INET AF_INET6 AF_NETLINK', calls: '@system-service @mount chroot' }),
    ],
  })
}

function databaseUnit(values: UnitValues, cluster: string): string {
  const { program, dataDir, places } = values
  const db = (...words: string[]) => unitCommand([...program, '--data-dir', dataDir, ...words])
  return unitOf(values, {
    Unit: [
      ['Description', `archivebox-ts: the PostgreSQL of ${unitText(dataDir)}`],
      ['RequiresMountsFor', places.map(unitWord).join(' ')],
      // Each start of a runner has systemd look again.
      ['AssertPathExists', unitText(configOf(dataDir))],
      // After that a runner tries to start it.
      ['StartLimitIntervalSec', '60'],
      ['StartLimitBurst', '10'],
    ],
    Service: [
      ['Type', 'forking'],
      ['PIDFile', unitText(join(cluster, 'postmaster.pid'))],
      // One that a command has started would end with its login session: it is started again here.
      ['ExecStartPre', `-${db('db', 'stop', '--force')}`],
      ['ExecStart', db('--wait-db', String(LONGEST_START_SECONDS), 'db', 'start')],
      ['ExecStop', db('db', 'stop', '--force')],
      ['TimeoutStopSec', '300'],
      ['TimeoutStartSec', String(LONGEST_START_SECONDS)],
      ['Restart', 'on-failure'],
      ['KillMode', 'mixed'],
      ['KillSignal', 'SIGINT'],
      ...mayNot(values, { families: 'AF_UNIX', calls: '@system-service' }),
      ['RestrictNamespaces', 'yes'],
      // It has a socket in the file system, and no other.
      ['PrivateNetwork', values.isUsers ? undefined : 'yes'],
    ],
  })
}

/** What a service may not do. Only the service manager of the machine can hide parts of the file system. */
function mayNot(
  { name, isUsers, user, places, backups }: UnitValues,
  may: { families: string; calls: string },
): Line[] {
  const anywhere: Line[] = [
    ['NoNewPrivileges', 'yes'],
    ['LockPersonality', 'yes'],
    ['RestrictRealtime', 'yes'],
    ['RestrictSUIDSGID', 'yes'],
    ['RestrictAddressFamilies', may.families],
    ['SystemCallArchitectures', 'native'],
    ['SystemCallFilter', may.calls],
    ['SystemCallErrorNumber', 'EPERM'],
  ]
  if (isUsers) return anywhere
  // Root keeps its copies of PostgreSQL in a folder that is known everywhere.
  const state = user === undefined ? 'archivebox-ts' : name
  // The minus: it may be missing.
  const writable = [...places, ...(backups === undefined ? [] : [`-${backups}`]), '/tmp', '/var/tmp']
  return [
    ['User', user === undefined ? undefined : unitText(user)],
    ['StateDirectory', state],
    ['Environment', `ARCHIVEBOX_SERVER_DIR=/var/lib/${state}`],
    ['CapabilityBoundingSet', user === undefined ? undefined : ''],
    ['ProtectSystem', 'strict'],
    ['ReadWritePaths', writable.map(unitWord).join(' ')],
    ['ProtectHome', 'read-only'],
    ['PrivateDevices', 'yes'],
    ['ProtectClock', 'yes'],
    ['ProtectHostname', 'yes'],
    ['ProtectKernelLogs', 'yes'],
    ['ProtectKernelModules', 'yes'],
    ['ProtectKernelTunables', 'yes'],
    ...anywhere,
  ]
}

function unitOf(
  { dataDir, isUsers }: UnitValues,
  sections: Readonly<Record<'Unit' | 'Service', readonly Line[]>>,
): string {
  const install: Line[] = [['WantedBy', isUsers ? 'default.target' : 'multi-user.target']]
  const all = Object.entries({ ...sections, Install: install })
  const text = ([section, lines]: readonly [string, readonly Line[]]) =>
    [`[${section}]`, ...lines.flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${value}`]))].join('\n')
  return `${markOf(dataDir)}\n\n${all.map(text).join('\n\n')}\n`
}
