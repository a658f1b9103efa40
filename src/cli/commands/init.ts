import { asProcess, openHome } from '../home.ts'
import type { GlobalOptions } from '../options.ts'
import { terminal } from '../terminal.ts'

/**
 * `init`: creates a data dir and its database; on an existing one it only brings the schema up to date.
 */
export async function init(options: GlobalOptions, { force }: { force?: boolean }): Promise<void> {
  const open = await openHome(options, force ? 'force' : 'if-empty')
  try {
    await asProcess(open.home, 'cli', async () => terminal.say(`ready: ${open.home.dataDir}`))
  } finally {
    await open.close()
  }
}
