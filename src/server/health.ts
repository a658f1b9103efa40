import { ping } from '../db/database.ts'
import { healthyOrchestrator } from '../runner/ownership.ts'
import type { App } from './visit.ts'
import type { Web } from './web.ts'

/** For monitoring: these need no session, and tell only whether the server works. */
export function routeHealth(app: App, { archive, database }: Web): void {
  app.get('/healthz', (c) => c.text('ok\n'))
  app.get('/readyz', async (c) => {
    const why = await ping(archive.home.db).then(
      async () => ((await healthyOrchestrator(archive.home)) ? undefined : 'no runner leads'),
      () => {
        database.isAway()
        return 'the database does not answer'
      },
    )
    return why === undefined ? c.text('ready\n') : c.text(`${why}\n`, 503)
  })
}
