import type { App } from '../../visit.ts'
import type { Web } from '../../web.ts'
import { routeHealthBoard } from './health.ts'
import { routeLive } from './live.ts'
import { routePlugins } from './plugins.ts'
import { routeSchedules } from './schedules.ts'
import { routeSettings } from './settings.ts'

/** The pages with figures and tables: what happens now, and how everything is set up. */
export function routeBoards(app: App, web: Web): void {
  routeLive(app, web)
  routeSchedules(app, web)
  routePlugins(app, web)
  routeSettings(app, web)
  routeHealthBoard(app, web)
}
