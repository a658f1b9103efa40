import { join } from 'node:path'
import { leadsOut } from '../../base/leads-out.ts'
import { type OpenFile, openInside } from '../content/open-inside.ts'

/**
 * Opens a file of a page. Only the first step, the folder of all files, may be a link: its owner may have moved it.
 * @param folder of the page, relative to the data dir
 * @param path relative to that
 * @returns undefined: there is no such file, or a link leads to it. The caller closes it
 */
export async function openBelow(dataDir: string, folder: string, path: string): Promise<OpenFile | undefined> {
  if (leadsOut(folder) || leadsOut(path)) return undefined
  const [first = '', ...steps] = `${folder}/${path}`.split('/')
  return await openInside(join(dataDir, first), steps)
}
