import type { Changes } from '../../app/changes.ts'
import { isUuid } from '../../base/ids.ts'

/** A topic that a page may listen to: `archive`, `processes`, `crawl:ID`, `page:ID`. */
export type Topic = string

const MOST_TOPICS = 100

/** Reads topics, separated by spaces; undefined: one of them is invalid. */
export function topicsIn(text: string): ReadonlySet<Topic> | undefined {
  const topics = text.split(' ').filter(Boolean)
  const isTopic = (topic: string) => {
    const [, id] = /^(?:crawl|page):([^:]*)$/.exec(topic) ?? []
    return topic === 'archive' || topic === 'processes' || (id !== undefined && isUuid(id))
  }
  return topics.length > 0 && topics.length <= MOST_TOPICS && topics.every(isTopic) ? new Set(topics) : undefined
}

/** The ids in topics. */
export function idsOf(kind: 'page' | 'crawl', topics: Iterable<Topic>): string[] {
  return [...topics].flatMap((topic) => (topic.startsWith(`${kind}:`) ? [topic.slice(kind.length + 1)] : []))
}

/** The topics of a change. */
export function topicsOf({ archive, pages, crawls, processes }: Changes): Topic[] {
  return [
    ...(archive ? ['archive'] : []),
    ...(processes ? ['processes'] : []),
    ...crawls.map((id) => `crawl:${id}`),
    ...pages.map((id) => `page:${id}`),
  ]
}
