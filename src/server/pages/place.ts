import { attemptName } from '../../base/attempt-paths.ts'
import type { ListLinks } from '../../pages/links.ts'
import type { Place } from '../../pages/place.ts'
import type { Session } from '../access/sessions.ts'
import { servedAssets } from '../assets.ts'
import type { Web } from '../web.ts'
import { banner } from './frame.ts'

/** A copy may open the targets of its links in a new window, with the rights of that site; and nothing else. */
const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox'

/** The links of the pages and files of a list, by the ids of the pages. */
export function servedLinks({ copies }: Pick<Web, 'copies'>, session: Session): Pick<ListLinks, 'snapshot' | 'fileOf'> {
  return {
    snapshot: (id) => `/snapshots/${id}`,
    fileOf: (id, path) => copies.file(id, session, path),
  }
}

/** The place of a served page. @param snapshotId the page whose files it shows, if any */
export function served(web: Pick<Web, 'copies'>, session: Session, snapshotId = ''): Place {
  const { style, script, worker } = servedAssets()
  const file = (path: string) => web.copies.file(snapshotId, session, path)
  return {
    ...servedLinks(web, session),
    chunk: () => '',
    top: '',
    style: style.path,
    script: script.path,
    worker: worker.path,
    comesAgain: false,
    isLive: true,
    archive: '/',
    crawl: ({ id }) => `/crawls/${id}`,
    file,
    folder: () => undefined,
    copies: () => undefined,
    records: undefined,
    sandbox: SANDBOX,
    choice: ({ plugin }) => `/snapshots/${snapshotId}?copy=${encodeURIComponent(plugin)}`,
    log: ({ plugin, hookName, attempt }, name) =>
      `/snapshots/${snapshotId}/log?${new URLSearchParams({ hook: attemptName(plugin, hookName, attempt), of: name })}`,
    policy: () => undefined,
    banner: banner('/'),
    shown: (output) => ({
      ...output,
      href: file(output.path),
      ...(output.thumbnail !== undefined && { picture: file(output.thumbnail) }),
    }),
  }
}
