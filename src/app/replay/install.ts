import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Texts } from '../../base/config.ts'
import { AppError, messageOf } from '../../base/errors.ts'
import { install, programOf } from '../../hooks/upstream/install.ts'
import type { Call } from '../call.ts'
import type { Installing, Provided } from '../plugins/install-needed.ts'
import { installedReplay, PUBLISHED, PUBLISHED_FILES, replayDir } from './published.ts'
import { filesInTar } from './tar.ts'

/** Its name for `plugin install`. */
export const REPLAY = 'replay'

/** Installs ReplayWeb.page, which the server replays WARC and WACZ with. Nothing is left half installed. */
export async function installReplay(settings: Texts, { tell }: Pick<Call<Installing>, 'tell'>): Promise<Provided> {
  const { name, version } = PUBLISHED
  const folder = replayDir(settings)
  const about = { type: 'Binary', name: `${name} ${version}`, plugin: REPLAY } as const
  if (installedReplay(settings))
    return { record: { ...about, status: 'there', abspath: folder, message: '' }, failed: false }
  try {
    tell?.({ event: 'installing', name: about.name, folder })
    await fetchInto(folder, settings)
    return { record: { ...about, status: 'installed', abspath: folder, message: '' }, failed: false }
  } catch (error) {
    const message = `${about.name}: ${messageOf(error)}`
    return { record: { ...about, status: 'missing', abspath: '', message }, failed: true }
  }
}

async function fetchInto(folder: string, settings: Texts): Promise<void> {
  const parent = dirname(folder)
  mkdirSync(parent, { recursive: true })
  const part = mkdtempSync(join(parent, '.part-'))
  try {
    const files = filesInTar(gunzipSync(await packageFile(part, settings)))
    const whole = join(part, 'whole')
    mkdirSync(whole)
    for (const name of PUBLISHED_FILES) {
      const bytes = files.get(`package/${name}`)
      if (bytes === undefined) throw new AppError(`the package has no ${name}`)
      writeFileSync(join(whole, name), bytes)
    }
    rmSync(folder, { recursive: true, force: true })
    renameSync(whole, folder)
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

/** The package as npm downloads it. Throws AppError when it is not the expected one. */
async function packageFile(folder: string, settings: Texts): Promise<Buffer> {
  const { name, version, integrity } = PUBLISHED
  const quiet = ['--ignore-scripts', '--no-update-notifier', '--loglevel=error']
  const command = [programOf('npm', settings), 'pack', `${name}@${version}`, '--pack-destination', folder, ...quiet]
  await install({ folder, commands: [command] }, settings)
  const [file] = readdirSync(folder).filter((entry) => entry.endsWith('.tgz'))
  if (file === undefined) throw new AppError('npm pack wrote no file')
  const bytes = readFileSync(join(folder, file))
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`
  if (found !== integrity) throw new AppError('its checksum is not that of the published package: nothing is kept')
  return bytes
}
