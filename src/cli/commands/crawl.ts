import { createCrawls } from '../records/create.ts'
import { CRAWL } from '../records/kinds.ts'
import { steeringOf, verbsOf } from '../records/verbs.ts'

/** The verbs of `crawl`. What is done to a crawl is done to its snapshots. */
export const crawlVerbs = { ...verbsOf(CRAWL), ...steeringOf(CRAWL, 'crawl'), create: createCrawls }
