import { describe, expect, it } from 'vitest'
import { at, files, run, runRow, useHookRuns } from '../support/hook-runs.ts'

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

  it.each([
    ['a redirect to a page', '/redirect-2'],
    ['a redirect to itself that sets a cookie', '/redirect-cookie'],
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

  it('what never ends have what came of it in their time', async () => {
    expect(await runRow(['warc', 'wacz'], at('/slow'), { WARC_TIMEOUT: '2' })).toEqual({ warc: PART, wacz: PART })
  })

  it('an empty answer tell that it is empty', async () => {
    for (const path of ['/empty.pdf', '/status-204'])
      expect(await run('warc', at(path))).toMatchObject({ status: 'succeeded', json: { empty: true } })
    expect((await run('warc', at('/photo.png'))).json).not.toHaveProperty('empty')
  })
})
