import { AWAY, archiveFigures, CONTENT_TYPE, processFigures, prometheusText } from '../app/metrics/figures.ts'
import { isDatabaseAway } from '../db/trouble.ts'
import type { App } from './visit.ts'
import { archiveNow, type Web } from './web.ts'

/** The figures of `status --prometheus`, and those of this server. */
export function routeMetrics(app: App, web: Web): void {
  app.get('/metrics', async (c) => {
    const figures = await archiveNow(web)
      .then(archiveFigures)
      .catch((error: unknown) => {
        if (!isDatabaseAway(error)) throw error
        web.database.isAway()
        return AWAY
      })
    return c.body(prometheusText({ ...figures, ...processFigures() }), 200, { 'Content-Type': CONTENT_TYPE })
  })
}
