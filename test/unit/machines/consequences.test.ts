import { describe, expect, it } from 'vitest'
import { causeOf } from '../../../src/machines/cause.ts'
import { Consequences, type KnownEnd } from '../../../src/workers/page/consequences.ts'

const fail = (output: string) => ({ event: 'fail', output }) as const
const requiring = (plugin: string, ...requires: string[]) => ({ plugin, requires })
const end = (plugin: string, status: KnownEnd['status'], output = '', background = false): KnownEnd => ({
  ...{ plugin, status, output, background, asksOnly: ['headers', 'html'].includes(plugin) },
  cause: status === 'failed' ? causeOf(plugin, output) : undefined,
})

describe('what failed on a page so far', () => {
  it('keeps those from running that require it, one behind the other, and nobody else', () => {
    const chrome = end('chrome', 'failed', 'net::ERR_CONNECTION_REFUSED at http://127.0.0.1:1/')
    const page = new Consequences([chrome])
    expect(page.lacking(requiring('dom', 'chrome'))).toBe('needs chrome, which failed')
    expect(page.lacking(requiring('chrome', 'chrome'))).toBeUndefined()
    expect(page.lacking(requiring('wget'))).toBeUndefined()
    const later = new Consequences([
      chrome,
      end('dom', 'skipped', 'needs chrome, which failed'),
      end('wget', 'skipped', 'wget not found: apt-get install wget'),
    ])
    expect(later.lacking(requiring('outlinks', 'dom'))).toBe('needs dom, which failed')
    expect(later.lacking(requiring('warc', 'wget'))).toBeUndefined()
  })

  it('keeps the other hooks of a plugin from running when it is a background hook, or the set-up for the crawl', () => {
    const page = new Consequences([end('proxy', 'failed', 'no port', true)], ['chrome'])
    for (const plugin of ['proxy', 'chrome']) {
      expect(page.lacking(requiring(plugin))).toBe(`needs ${plugin}, which failed`)
      expect(page.lacking(requiring('dom', plugin))).toBe(`needs ${plugin}, which failed`)
    }
  })

  it('is a failure once: whoever cannot reach the page as somebody before is skipped, whatever the words', () => {
    const page = new Consequences([end('headers', 'failed', 'connection refused by 127.0.0.1:1')])
    expect(page.told('dom', fail('net::ERR_CONNECTION_REFUSED'))).toEqual({
      event: 'skip',
      output: 'connection refused, as headers found',
    })
    expect(page.told('headers', fail('connection refused by 127.0.0.1:1')).event).toBe('fail')
    expect(page.told('wget', fail('HTTP 404 Not Found')).event).toBe('fail')
  })

  it('is one of each that takes too long, unless the page never answered', () => {
    const words = 'timed out after 60 s'
    const silent = new Consequences([end('headers', 'failed', words)])
    expect(silent.told('html', fail(words))).toEqual({ event: 'skip', output: `${words}, as headers found` })
    const answered = new Consequences([end('headers', 'succeeded'), end('html', 'failed', words)])
    expect(answered.told('pdf', fail(words)).event).toBe('fail')
    const others = new Consequences([end('git', 'failed', words)])
    expect(others.told('pdf', fail(words)).event).toBe('fail')
  })

  it('is not what found nothing: who reads that finds nothing, too', () => {
    const page = new Consequences([end('html', 'noresults', 'not HTML but image/png')])
    expect(page.told('title', { event: 'skip', output: 'needs html, which failed' })).toEqual({
      event: 'empty',
      output: 'html found nothing',
    })
  })
})
