import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { routeArchive } from './archive.ts'
import { routeHealthBoard } from './boards/health.ts'
import { routeLive } from './boards/live.ts'
import { routePlugins } from './boards/plugins.ts'
import { routeSchedules } from './boards/schedules.ts'
import { routeSettings } from './boards/settings.ts'
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
  routeLive(app, web)
  routeSchedules(app, web)
  routePlugins(app, web)
  routeSettings(app, web)
  routeHealthBoard(app, web)
}
