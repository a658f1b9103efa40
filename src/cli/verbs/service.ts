import type { Command } from 'commander'
import type { ServiceOptions } from '../commands/service.ts'
import type { GlobalOptions } from '../options.ts'
import { verb } from '../verb.ts'

/** `service`: the runner as a service of systemd. */
export function registerService(root: Command, globals: () => Promise<GlobalOptions>): void {
  const load = async () => await import('../commands/service.ts')
  const service = verb(root, 'service', 'keep the runner and its database running, by systemd')
  const one = (name: string, description: string, examples: string[]) =>
    verb(service, name, description, examples)
      .option('--user', 'a service of your own, which ends when you log out unless you may linger')
      .option('--name <name>', 'its name, for more than one data dir', 'archivebox')
  one('install', 'write the units, start them, and have them started at each boot', [
    'archivebox-ts service install',
  ]).action(async (options: ServiceOptions) => (await load()).serviceInstall(await globals(), options))
  one('show', 'print the units that install would write', ['archivebox-ts service show --user']).action(
    async (options: ServiceOptions) => (await load()).serviceShow(await globals(), options),
  )
  one('remove', 'stop it, and remove the units; the archive stays', ['archivebox-ts service remove --user']).action(
    async (options: ServiceOptions) => (await load()).serviceRemove(options),
  )
}
