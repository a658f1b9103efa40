import { describe, expect, it } from 'vitest'
import { unitCommand, unitWord } from '../../../src/app/service/unit-words.ts'
import { isOurs, markOf, type UnitValues, unitsFor } from '../../../src/app/service/units.ts'

const VALUES: UnitValues = {
  name: 'archivebox',
  dataDir: '/srv/web',
  cluster: '/srv/web/postgres',
  program: ['/usr/bin/node', '/opt/a/main.js'],
  isUsers: false,
  user: 'archiver',
  places: ['/srv/web'],
  backups: undefined,
  stopSeconds: 20,
  canNotify: true,
}

/** The values of a key in the unit of the runner, or of its database. */
function valuesOf(key: string, values: Partial<UnitValues>, which: 'runner' | 'db' = 'runner'): string[] {
  const file = which === 'db' ? 'archivebox-db.service' : 'archivebox.service'
  const { text = '' } = unitsFor({ ...VALUES, ...values }).find((unit) => unit.file === file) ?? {}
  return text.split('\n').flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))
}

describe('a word of a unit', () => {
  it.each([
    ['/srv/web', '/srv/web'],
    ['/srv/Bücher', '/srv/Bücher'],
    ['100% of it', '"100%% of it"'],
    ['say "no"\\now', '"say \\"no\\"\\\\now"'],
    ['$HOME;', '"$HOME;"'],
    ['', '""'],
  ])('%j is written %s', (word, written) => {
    expect(unitWord(word)).toBe(written)
  })

  it('of a command stands for itself: no variable is looked up', () => {
    expect(unitCommand(['/bin/echo', '$HOME'])).toBe(':/bin/echo "$HOME"')
  })
})

describe('the units', () => {
  it('name the data dir wherever it is meant', () => {
    const dataDir = '/srv/my 100% ü'
    const odd = { dataDir, cluster: `${dataDir}/postgres`, places: [dataDir], backups: '/mnt/my 100% disk' }
    expect(valuesOf('ExecStart', odd)).toEqual([
      ':/usr/bin/node /opt/a/main.js --data-dir "/srv/my 100%% ü" run --stay --daemon',
    ])
    expect(valuesOf('PIDFile', odd, 'db')).toEqual(['/srv/my 100%% ü/postgres/postmaster.pid'])
    expect(valuesOf('ReadWritePaths', odd)).toEqual(['"/srv/my 100%% ü" "-/mnt/my 100%% disk" /tmp /var/tmp'])
    expect(valuesOf('RequiresMountsFor', odd)).toEqual(['"/srv/my 100%% ü"'])
    expect(valuesOf('ExecStartPre', odd)).toEqual([':test -e "/srv/my 100%% ü/archivebox.toml"'])
    expect(valuesOf('AssertPathExists', odd, 'db')).toEqual(['/srv/my 100%% ü/archivebox.toml'])
  })

  it('wait for the disks of the data dir and its database, and for no other', () => {
    const values = { places: ['/srv/web', '/mnt/pg'], backups: '/mnt/backup' }
    for (const which of ['runner', 'db'] as const)
      expect(valuesOf('RequiresMountsFor', values, which)).toEqual(['/srv/web /mnt/pg'])
    expect(valuesOf('ReadWritePaths', values)).toEqual(['/srv/web /mnt/pg -/mnt/backup /tmp /var/tmp'])
    expect(valuesOf('ReadWritePaths', {})).toEqual(['/srv/web /tmp /var/tmp'])
  })

  it('give a stop the time of STOP_SECONDS, and 10 s to kill and to write', () => {
    expect(valuesOf('Environment', {})).toContain('STOP_SECONDS=20')
    expect(valuesOf('TimeoutStopSec', {})).toEqual(['30'])
  })

  it('start a runner again without end, whatever it exits with', () => {
    expect(valuesOf('Restart', {})).toEqual(['on-failure'])
    expect(valuesOf('StartLimitIntervalSec', {})).toEqual(['0'])
    expect(valuesOf('RestartPreventExitStatus', {})).toEqual([])
  })

  it('are one when the database is somebody else’s', () => {
    expect(unitsFor({ ...VALUES, cluster: undefined }).map(({ file }) => file)).toEqual(['archivebox.service'])
    expect(valuesOf('After', { cluster: undefined })).toEqual(['network-online.target'])
    expect(valuesOf('After', {})).toEqual(['archivebox-db.service network-online.target'])
    const told = 'ARCHIVEBOX_DATABASE_UNIT=archivebox-db.service' // So that the runner leaves its restarts to it.
    expect(valuesOf('Environment', {})).toContain(told)
    expect(valuesOf('Environment', { cluster: undefined })).not.toContain(told)
  })

  it('do without news of the runner where systemd-notify is missing', () => {
    expect(valuesOf('Type', {})).toEqual(['notify'])
    const deaf = { canNotify: false }
    expect(valuesOf('Type', deaf)).toEqual(['exec'])
    for (const key of ['NotifyAccess', 'WatchdogSec', 'ExecReload']) expect(valuesOf(key, deaf)).toEqual([])
  })

  it('run as the owner of the data dir, without any capability; those of a user as that user', () => {
    expect(valuesOf('User', {})).toEqual(['archiver'])
    expect(valuesOf('CapabilityBoundingSet', {})).toEqual([''])
    expect(valuesOf('User', { isUsers: true })).toEqual([])
    expect(valuesOf('ProtectSystem', { isUsers: true })).toEqual([])
    expect(valuesOf('WantedBy', { isUsers: true })).toEqual(['default.target'])
    expect(valuesOf('CapabilityBoundingSet', { user: undefined })).toEqual([])
  })

  it('are known as ours by their first line, and others are not', () => {
    for (const { text } of unitsFor(VALUES)) {
      expect(text.split('\n')[0]).toBe(markOf('/srv/web'))
      expect(isOurs(text)).toBe(true)
    }
    expect(isOurs('[Unit]\nDescription=archivebox\n')).toBe(false)
  })
})
