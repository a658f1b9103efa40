import { describe, expect, it } from 'vitest'
import { HashedSet } from '../../../src/base/hashed-set.ts'
import { UrlListBuilder } from '../../../src/base/url-list.ts'

const url = (n: number) => `http://a.example/${n}`
function listOf(urls: readonly string[]) {
  const builder = new UrlListBuilder()
  for (const each of urls) builder.add(each)
  return builder.list()
}

describe('a set of hashes', () => {
  it('takes each text once, however many there are', () => {
    const set = new HashedSet()
    for (let n = 0; n < 50_000; n += 1) expect(set.add(url(n))).toBe(true)
    for (let n = 0; n < 50_000; n += 1) expect(set.add(url(n))).toBe(false)
    expect(set.size).toBe(50_000)
    expect(set.add('')).toBe(true)
  })
})

describe('a list of URLs', () => {
  it('keeps their order, each once, the first hundred in its first part', () => {
    const urls = Array.from({ length: 4_200 }, (_, n) => url(n))
    const list = listOf([...urls, ...urls.slice(0, 500)])!
    expect(list.total).toBe(4_200)
    expect([...list]).toEqual(urls.map((each) => ({ url: each })))
    expect(list.first).toEqual({ urls: urls.slice(0, 100).join('\n'), details: '' })
    expect([...list.others()].map((part) => part.urls.split('\n').length)).toEqual([2_000, 2_000, 100])
  })

  it('that is short is all in its first part; one without a URL is none', () => {
    const list = listOf([url(1), url(2)])!
    expect([list.isMoreThanUrls, list.total, list.first.urls]).toEqual([false, 2, `${url(1)}\n${url(2)}`])
    expect(listOf([])).toBeUndefined()
  })

  it('of very long URLs has smaller parts', () => {
    const list = listOf(Array.from({ length: 500 }, (_, n) => `${url(n)}/${'x'.repeat(8_000)}`))!
    for (const part of list.others()) expect(part.urls.length).toBeLessThan(510_000)
    expect([...list]).toHaveLength(500)
  })

  it('keeps with each URL what is known of it, and nothing where nothing is', () => {
    const builder = new UrlListBuilder()
    for (let n = 0; n < 300; n += 1)
      builder.add(url(n), n % 150 === 0 ? { title: `line\n${n}`, tags: ['a'] } : undefined)
    expect(builder.add(url(0), { title: 'again' })).toBe(false)
    const list = builder.list()!
    const known = [...list].filter(({ details }) => details !== undefined)
    expect(known).toEqual([0, 150].map((n) => ({ url: url(n), details: { title: `line\n${n}`, tags: ['a'] } })))
    expect([list.total, list.isMoreThanUrls]).toEqual([300, true])
    builder.close()
  })
})
