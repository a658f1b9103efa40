import { matchingIds } from '../../app/ids.ts'
import { status } from '../../app/status/facts.ts'
import { UsageError } from '../../base/errors.ts'
import { isUuid } from '../../base/ids.ts'
import type { App, Asked } from '../visit.ts'
import { archiveNow, type Web } from '../web.ts'
import { answerJson } from './answer.ts'
import { LISTS, type List } from './lists.ts'
import { queryOf } from './query.ts'

const BASE = '/api/v1'

/** The read-only API: the records of the command line, with its filters, in parts. */
export function routeApi(app: App, web: Web): void {
  const { home } = web.archive
  const read = (path: string, answer: (c: Asked) => Promise<Response>) => {
    app.get(`${BASE}${path}`, async (c) => await orError(c, () => answer(c)))
    app.all(`${BASE}${path}`, (c) => {
      c.header('Allow', 'GET, HEAD')
      return c.json({ error: 'this API is read-only: use GET' }, 405)
    })
  }
  read('', async (c) =>
    answerJson(c, { lists: [...LISTS.keys()].map((name) => `${BASE}/${name}`), status: `${BASE}/status` }),
  )
  read('/status', async (c) => {
    queryOf(c.req.url, [])
    return answerJson(c, await status(await archiveNow(web)))
  })
  for (const [name, list] of LISTS) {
    read(`/${name}`, async (c) => {
      const query = queryOf(c.req.url, list.filters)
      const { items, next } = await list.part(home, query)
      return answerJson(c, { items, next: next === undefined ? null : query.next(next) })
    })
    read(`/${name}/:id`, async (c) => await answerOne(c, list, c.req.param('id') ?? ''))
  }
  app.all(`${BASE}/*`, (c) => c.json({ error: `there is no ${c.req.path}: ${BASE} lists what there is` }, 404))

  const answerOne = async (c: Asked, list: List, text: string): Promise<Response> => {
    const none = () => c.json({ error: `there is no ${list.noun} ${text}` }, 404)
    const ids = list.table && !isUuid(text) ? await matchingIds(home, list.table, text) : [text.toLowerCase()]
    if (ids.length > 1) return c.json({ error: `${text} matches several: ${ids.join(', ')}` }, 409)
    const record = ids[0] === undefined ? undefined : await list.one?.(home, ids[0])
    return record === undefined ? none() : answerJson(c, record)
  }
}

/** Reports bad input in one line, with what to do. */
async function orError(c: Asked, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    return c.json({ error: [error.message, error.hint].filter(Boolean).join('; ') }, 400)
  }
}
