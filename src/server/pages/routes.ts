import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { routeArchive } from './archive.ts'
import { routeBoards } from './boards/routes.ts'
import { routeCopiesOfUrl } from './copies-of-url.ts'
import { routeCrawl } from './crawl.ts'
import { routeCrawls } from './crawls.ts'
import { routeLog } from './log.ts'
import { routeSnapshot } from './snapshot.ts'

/** The pages, each by its path. */
export function routePages(app: App, web: Web): void {
  routeArchive(app, web)
  routeCrawls(app, web)
  routeCrawl(app, web)
  routeSnapshot(app, web)
  routeLog(app, web)
  routeCopiesOfUrl(app, web)
  routeBoards(app, web)
}
