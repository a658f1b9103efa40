import { html } from '../../pages/html.ts'
import type { App } from '../visit.ts'
import type { Web } from '../web.ts'
import { board } from './frame.ts'

/** The pages, each by its path. */
export function routePages(app: App, _web: Web): void {
  app.get('/', (c) => c.html(board('/', 'Archive', html`<h1>Archive</h1>`)))
}
