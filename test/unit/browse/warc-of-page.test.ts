import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Visit } from '../../../src/browse/visit.ts'
import { Payload } from '../../../src/browse/warc/payload.ts'
import { recordingOf } from '../../../src/browse/warc/recording-of.ts'
import { at, DEAD, files, run, runRow, snapshot, useHookRuns } from '../../support/hook-runs.ts'

useHookRuns()

const WHOLE = { warc: 'succeeded: warc/data.warc.gz', wacz: 'succeeded: wacz/page.wacz' }
const PART = 'failed: the page itself did not come whole'

describe('the WARC and the WACZ of', () => {
  it.each([
    ['a picture that no hook has read', '/photo.png'],
    ['a file that is longer than what arrives unread', '/long.bin'],
  ])('%s have it', async (_, path) => {
    expect(await runRow(['html', 'warc', 'wacz'], at(path))).toMatchObject(WHOLE)
  })

  it('a file have it when they are made again by themselves', async () => {
    await runRow(['headers', 'staticfile', 'html'], at('/photo.png'))
    expect(await runRow(['warc', 'wacz'], at('/photo.png'))).toEqual(WHOLE)
  })

  it.each([
    ['a redirect to a page', '/redirect-2'],
    ['a redirect to itself that sets a cookie', '/redirect-cookie'],
    ['a redirect with a long body', '/redirect-long'],
    ['what has the status of a redirect, and leads nowhere', '/choices'],
  ])('%s have both', async (_, path) => {
    expect(await runRow(['warc', 'wacz'], at(path))).toEqual(WHOLE)
  })

  it.each([
    ['nothing else', ['warc', 'wacz'], '/redirect-ftp'],
    ['others, too', ['headers', 'html', 'warc', 'wacz'], '/redirect-ftp'],
    ['what breaks off', ['warc', 'wacz'], '/redirect-half'],
  ])('a redirect whose target is missing say so, beside %s', async (_, plugins, path) => {
    expect(await runRow(plugins, at(path))).toMatchObject({ warc: PART, wacz: PART })
    expect(files()).toEqual(expect.arrayContaining(['warc/data.warc.gz', 'wacz/page.wacz']))
  })

  it('what breaks off behind a redirect to itself have what came of it', async () => {
    const { status, json } = await run('warc', at('/redirect-cookie-half'))
    expect([status, json]).toMatchObject(['failed', { responses: 2, left_out: 1 }])
  })

  it('what never ends have what came of it in their time', async () => {
    expect(await runRow(['warc', 'wacz'], at('/slow'), { WARC_TIMEOUT: '2' })).toEqual({ warc: PART, wacz: PART })
  })

  it.each([
    ['is what GET has brought', ['GET', 'HEAD'], 'succeeded'],
    ['is not what came of a form', ['POST'], 'failed'],
  ])('a page that is asked for by several methods %s', async (_, methods, expected) => {
    const visit = new Visit(['warc'])
    visit.recordInto = join(snapshot, 'warc')
    const recording = recordingOf({ visit, env: {} })!
    const common = { at: new Date(), requestHeaders: [], status: 200, statusText: 'OK', headers: [], isDecoded: false }
    for (const method of methods) {
      const body = Payload.of(Buffer.from(method === 'HEAD' ? '' : method))
      recording.add(DEAD, Promise.resolve({ ...common, url: DEAD, method, body }))
    }
    const { status, json } = await run('warc', DEAD, {}, undefined, visit)
    expect(status).toBe(expected)
    expect(json).not.toHaveProperty('empty')
    expect((await run('wacz', DEAD)).status).toBe(expected)
  })

  it('an empty answer tell that it is empty', async () => {
    for (const path of ['/empty.pdf', '/status-204'])
      expect(await run('warc', at(path))).toMatchObject({ status: 'succeeded', json: { empty: true } })
    expect((await run('warc', at('/photo.png'))).json).not.toHaveProperty('empty')
  })
})
