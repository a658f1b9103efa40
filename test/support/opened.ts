import type { Archive, Configured } from '../../src/app/archive.ts'
import { openArchive } from '../../src/app/open/open-archive.ts'
import { configure } from '../../src/app/settings/configure.ts'
import { Problems } from '../../src/base/problems.ts'
import type { TestHome } from './homes.ts'
import { environmentWith } from './program.ts'

/** The settings of a command for this home. */
export async function configuredAs({ dataDir, databaseUrl }: TestHome): Promise<Configured> {
  const problems = new Problems()
  const environment = environmentWith({ DATA_DIR: dataDir, DATABASE_URL: databaseUrl })
  const configured = await configure({ commandLine: {}, environment, makes: true }, problems)
  problems.refuse()
  return configured
}

/** Opens the archive of a home in this process, runs `work`, and closes it. */
export async function opened<T>(
  home: TestHome,
  work: (archive: Archive, configured: Configured) => Promise<T>,
): Promise<T> {
  const configured = await configuredAs(home)
  const archive = await openArchive(configured, { create: 'if-empty' })
  try {
    return await work(archive, configured)
  } finally {
    await archive.close()
  }
}
