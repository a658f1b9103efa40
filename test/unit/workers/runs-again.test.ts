import { describe, expect, it } from 'vitest'
import { runsAgain } from '../../../src/workers/page/runs-again.ts'

/** A hook: its plugin, what its name has after `on_Snapshot__`, its status, and what it requires. */
function one(
  plugin: string,
  order: string,
  status: string,
  about: { requires?: string[]; files?: true; why?: string; awaits?: true } = {},
) {
  return {
    hook: {
      plugin,
      name: `on_Snapshot__${order}`,
      background: order.includes('.bg'),
      requires: about.requires ?? [],
      readsPublished: plugin === 'hashes',
      awaitsBackground: about.awaits ?? false,
    },
    result: { status: status as 'queued', output_str: about.why ?? '', has_files: about.files ?? false },
  }
}

function again(all: ReturnType<typeof one>[], ...services: string[]): string[] {
  return runsAgain(all, new Set(services)).map(({ hook }) => hook.name.slice('on_Snapshot__'.length))
}

/** A page that was archived through a browser up to the screenshot. */
const page = (tab: string, log: string, pdf: string) => [
  one('chrome', '00_launch.daemon.bg', 'skipped', { why: 'one browser for the crawl' }),
  one('chrome', '00_before', 'succeeded', { files: true }),
  one('chrome', '01_tab.daemon.bg', tab, { files: true }),
  one('html', '20_html', 'succeeded', { files: true }),
  one('log', '21_log.daemon.bg', log, { requires: ['chrome'], files: true }),
  one('chrome', '30_navigate', 'succeeded', { files: true }),
  one('wget', '35_wget.finite.bg', 'succeeded', { files: true }),
  one('scroll', '45_scroll', 'succeeded', { requires: ['chrome'] }),
  one('deep', '46_deep', 'skipped', { requires: ['scroll'], why: 'needs scroll, which failed' }),
  one('shot', '51_shot', 'succeeded', { requires: ['chrome'], files: true }),
  one('pdf', '52_pdf', pdf, { requires: ['chrome'], files: true }),
  one('video', '53_video', 'failed', { requires: ['chrome'] }),
  one('hashes', '93_hashes', 'succeeded', { files: true }),
]
const ANEW = ['30_navigate', '45_scroll', '46_deep', '53_video']

describe('of the hooks of a page, those run again', () => {
  it('that acted on what an interrupted background hook had opened, but not those that saved something', () => {
    expect(again(page('queued', 'queued', 'queued'))).toEqual([...ANEW, '93_hashes'])
  })

  it('that a retried hook needs: the daemon that it works with, and what brought it to the page', () => {
    expect(again(page('succeeded', 'queued', 'succeeded')).sort()).toEqual(['01_tab.daemon.bg', ...ANEW, '93_hashes'])
    expect(again(page('succeeded', 'succeeded', 'queued')).sort()).toEqual(['01_tab.daemon.bg', ...ANEW, '93_hashes'])
  })

  it('not for one that reads what they left', () => {
    const left = one('final', '66_final', 'queued', { requires: ['log', 'chrome'], awaits: true })
    expect(again([...page('succeeded', 'succeeded', 'succeeded'), left], 'chrome')).toEqual(['93_hashes'])
  })

  it('not at all while none has run, or when all have', () => {
    expect(again([one('a', '10_a.bg', 'queued'), one('a', '20_a', 'queued')])).toEqual([])
    expect(again(page('succeeded', 'succeeded', 'succeeded'), 'chrome')).toEqual([])
  })

  it('of a plugin that serves the whole crawl, where an open hook needs it', () => {
    const all = [
      one('browser', '30_go', 'succeeded', { files: true }),
      one('title', '40_title', 'succeeded', { files: true }),
      one('shot', '51_shot', 'queued', { requires: ['browser'] }),
    ]
    expect(again(all, 'browser')).toEqual(['30_go'])
    expect(again(all)).toEqual([])
    expect(again(all.with(2, one('other', '51_other', 'queued')), 'browser')).toEqual([])
  })

  it('not because a downloader of its own has, and circles of requirements end', () => {
    const all = [
      one('a', '10_a', 'succeeded', { requires: ['b'] }),
      one('b', '20_b', 'succeeded', { requires: ['a'], files: true }),
      one('wget', '35_wget.finite.bg', 'queued'),
    ]
    expect(again(all)).toEqual([])
    expect(again([...all, one('b', '15_b.bg', 'queued')])).toEqual(['20_b'])
  })
})
