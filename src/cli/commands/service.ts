import { installService, removeService, serviceUnits, type WhichService } from '../../app/service/service.ts'
import type { GlobalOptions } from '../options.ts'
import { printRecord, terminal } from '../terminal.ts'

export interface ServiceOptions {
  readonly user?: boolean
  readonly name: string
}

const which = ({ user, name }: ServiceOptions): WhichService => ({ isUsers: user === true, name })
const systemctl = ({ user }: ServiceOptions) => (user ? 'systemctl --user' : 'systemctl')

/** `service install`: writes the units, and starts them where systemd runs. */
export async function serviceInstall(asked: GlobalOptions, options: ServiceOptions): Promise<void> {
  const { written, removed, isTold, isRoots } = await installService(asked, which(options))
  for (const file of removed) terminal.say(`removed ${file}, whose database is not ours any more`)
  for (const file of written) terminal.say(`wrote ${file}`)
  if (isRoots) terminal.say('it runs as root, as whom the data dir belongs to: an account of its own is safer')
  const names = written.map((file) => file.split('/').at(-1)).join(' ')
  if (!isTold)
    return terminal.say(`systemd does not run here; where it does: ${systemctl(options)} enable --now ${names}`)
  terminal.say(`they run, and do so after each boot: ${systemctl(options)} status ${names}`)
  terminal.say(`after an upgrade, without a gap: ${systemctl(options)} reload ${options.name}`)
  if (options.user) terminal.say('to have them run while you are logged out, too: loginctl enable-linger')
}

/** `service show`: the units, without writing them. */
export async function serviceShow(asked: GlobalOptions, options: ServiceOptions): Promise<void> {
  const units = await serviceUnits(asked, which(options))
  for (const { file, text } of units) {
    if (asked.json) printRecord({ type: 'Unit', file, text })
    else process.stdout.write(`${units[0]!.file === file ? '' : '\n'}# ${file}\n${text}`)
  }
}

/** `service remove`: stops the service, and removes the units that we wrote. */
export async function serviceRemove(options: ServiceOptions): Promise<void> {
  const { removed, isTold } = await removeService(which(options))
  if (removed.length === 0) return terminal.say(`there is no service ${options.name} of ours`)
  for (const file of removed) terminal.say(`${isTold ? 'stopped, and removed' : 'removed'} ${file}`)
}
