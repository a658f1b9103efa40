import { describe, expect, it } from 'vitest'
import { Consequences } from '../../src/workers/page/consequences.ts'

const fail = (output: string) => ({ event: 'fail', output }) as const
const requiring = (plugin: string, ...requires: string[]) => ({ plugin, requires })

describe('what failed on a page so far', () => {
  it('keeps those from running that require it, one behind the other, and nobody else', () => {
    const page = new Consequences()
    page.told('chrome', fail('net::ERR_CONNECTION_REFUSED at http://127.0.0.1:1/'))
    expect(page.lacking(requiring('dom', 'chrome'))).toBe('needs chrome, which failed')
    expect(page.lacking(requiring('chrome', 'chrome'))).toBeUndefined()
    expect(page.lacking(requiring('wget'))).toBeUndefined()
    page.note('dom', 'skipped', 'needs chrome, which failed')
    expect(page.lacking(requiring('outlinks', 'dom'))).toBe('needs dom, which failed')
    page.note('wget', 'skipped', 'wget not found: apt-get install wget')
    expect(page.lacking(requiring('warc', 'wget'))).toBeUndefined()
  })

  it('is a failure once: whoever cannot reach the page as somebody before is skipped, whatever the words', () => {
    const page = new Consequences()
    expect(page.told('headers', fail('connection refused by 127.0.0.1:1')).event).toBe('fail')
    expect(page.told('dom', fail('net::ERR_CONNECTION_REFUSED'))).toEqual({
      event: 'skip',
      output: 'connection refused, as headers found',
    })
    expect(page.told('wget', fail('HTTP 404 Not Found')).event).toBe('fail')
  })

  it('is one of each that takes too long, unless the page never answered', () => {
    const late = fail('timed out after 60 s')
    const silent = new Consequences()
    silent.told('headers', late)
    expect(silent.told('html', late)).toEqual({ event: 'skip', output: 'timed out after 60 s, as headers found' })
    const answered = new Consequences()
    answered.told('headers', { event: 'succeed', output: '' })
    answered.told('html', late)
    expect(answered.told('pdf', late).event).toBe('fail')
    const others = new Consequences()
    others.told('git', late)
    expect(others.told('pdf', late).event).toBe('fail')
  })

  it('is not what found nothing: who reads that finds nothing, too', () => {
    const page = new Consequences()
    page.told('html', { event: 'empty', output: 'not HTML but image/png' })
    expect(page.told('title', { event: 'skip', output: 'needs html, which failed' })).toEqual({
      event: 'empty',
      output: 'html found nothing',
    })
  })

  it('is known from earlier rounds', () => {
    const page = new Consequences()
    page.note('headers', 'failed', 'HTTP 503 Service Unavailable')
    page.note('html', 'skipped', 'HTTP 503, as headers found')
    expect(page.told('wget', fail('HTTP 503 Service Unavailable')).output).toBe('HTTP 503, as headers found')
    expect(page.lacking(requiring('title', 'html'))).toBe('needs html, which failed')
  })
})
