import { applicationName, type DatabaseOptions, openDatabase } from '../../db/database.ts'
import type { Home } from '../../db/home.ts'

const HOME_ENV = {
  embedded: 'ARCHIVEBOX_DATABASE_EMBEDDED',
  machineId: 'ARCHIVEBOX_MACHINE_ID',
  dataDirId: 'ARCHIVEBOX_DATA_DIR_ID',
} as const

/** The environment through which a child process finds its home. It is told its database through a pipe. */
export function homeEnvironment(home: Home): Record<string, string> {
  return {
    DATA_DIR: home.dataDir,
    [HOME_ENV.embedded]: String(home.embedded),
    [HOME_ENV.machineId]: home.machineId,
    [HOME_ENV.dataDirId]: home.dataDirId,
  }
}

/** The home in our environment, with a pool of connections for `role` on behalf of this runner. */
export function homeFromEnvironment(
  databaseUrl: string,
  role: string,
  runnerId: string,
  options: Omit<DatabaseOptions, 'name' | 'embedded'>,
): Home {
  const embedded = process.env[HOME_ENV.embedded] === 'true'
  return {
    db: openDatabase(databaseUrl, {
      ...options,
      name: applicationName(role, runnerId),
      embedded,
      onePlan: true,
    }),
    databaseUrl,
    embedded,
    machineId: required(HOME_ENV.machineId),
    dataDir: required('DATA_DIR'),
    dataDirId: required(HOME_ENV.dataDirId),
  }
}

/** An environment variable that our parent must have set. */
export function required(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: only a runner starts this process`)
  return value
}
