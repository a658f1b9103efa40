import { expect, it } from 'vitest'
import type { Tab } from '../../../src/browse/browser/tab.ts'
import { recordTraffic } from '../../../src/browse/browser/traffic.ts'
import { AddressFilter } from '../../../src/browse/network/address-filter.ts'
import type { Recording } from '../../../src/browse/warc/recording.ts'
import type { Exchange } from '../../../src/browse/warc/writer.ts'

type Hear = (event: object) => void

/** What is recorded of a tab in which the browser reports these events. */
async function recordedOf(events: readonly (readonly [name: string, event: object])[]) {
  const listeners = new Map<string, Hear>()
  const session = { on: (name: string, hear: Hear) => listeners.set(name, hear), send: async () => ({ body: '' }) }
  const tab = { session, filter: AddressFilter.from({}), inner: { prepare() {} } } as unknown as Tab
  const added: Promise<Exchange | undefined>[] = []
  const recording = {
    add: (_url: string, exchange: Promise<Exchange>) => added.push(exchange),
    leads: (from: string, to: string) => added.push(Promise.resolve({ status: 0, url: `${from} > ${to}` } as Exchange)),
    loads() {},
  }
  await recordTraffic(tab, recording as unknown as Recording, new Set())
  for (const [name, event] of events) listeners.get(`Network.${name}`)!(event)
  return (await Promise.all(added)).map((exchange) => `${exchange?.status} ${exchange?.url}`)
}

it.each([
  ['that a server sends', {}, ['307 http://example.com/', '200 https://example.com/']],
  [
    'that the browser makes up',
    { 'Non-Authoritative-Reason': 'HSTS' },
    ['0 http://example.com/ > https://example.com/', '200 https://example.com/'],
  ],
])('a redirect %s is recorded as what it is', async (_, more, expected) => {
  const [from, to] = ['http://example.com/', 'https://example.com/']
  const asked = (url: string) => ({ requestId: '1', wallTime: 0, request: { url, method: 'GET', headers: {} } })
  const answer = (url: string, status: number, headers = {}) => ({ url, status, statusText: '', headers })
  const redirect = { redirectResponse: answer(from, 307, { Location: to, ...more }), redirectHasExtraInfo: false }
  const events = [
    ['requestWillBeSent', asked(from)],
    ['requestWillBeSent', { ...asked(to), ...redirect }],
    ['responseReceived', { requestId: '1', response: answer(to, 200, { 'Content-Length': '0' }) }],
    ['loadingFinished', { requestId: '1', encodedDataLength: 0 }],
  ] as const
  expect(await recordedOf(events)).toEqual(expected)
})
