import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { settingsOf } from '../../../src/base/config.ts'
import { crawlSettings, pageSettings } from '../../../src/hooks/crawl-settings.ts'

let dataDir: string
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'page-settings-'))
  for (const [name, hook] of [
    ['browser', 'on_CrawlSetup__10_launch.bg.sh'],
    ['plain', 'on_Snapshot__20_look.sh'],
  ] as const) {
    mkdirSync(join(dataDir, 'plugins', name), { recursive: true })
    writeFileSync(join(dataDir, 'plugins', name, hook), '#!/bin/sh\n', { mode: 0o755 })
  }
})
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

const OFF = { BROWSER_ENABLED: 'false', PLAIN_ENABLED: 'false', TIMEOUT: '9' }
const ON = { BROWSER_ENABLED: 'true', PLAIN_ENABLED: 'true', TIMEOUT: '5', HOOK_RETRIES: 'many' }
const OURS = settingsOf({ HOOK_RETRIES: '2' })
const ofCrawl = (env: Readonly<Record<string, string>>) => crawlSettings(dataDir, OURS, { env })
const ofPage = (env: Readonly<Record<string, string>>, own: Readonly<Record<string, string>> | null) =>
  pageSettings(dataDir, OURS, ofCrawl(env), own)

it('a page turns a plugin on that its crawl has off, unless that would have had to be set up with the crawl', () => {
  expect(ofPage(OFF, ON)).toMatchObject({ BROWSER_ENABLED: 'false', PLAIN_ENABLED: 'true' })
  expect(ofPage({}, { ...ON, BROWSER_ENABLED: 'no' })).toMatchObject({ BROWSER_ENABLED: 'no' })
})

it('what a page has wins over its crawl; what would be refused today counts as not set', () => {
  expect(ofPage(OFF, ON)).toMatchObject({ TIMEOUT: '5', HOOK_RETRIES: '2' })
  expect(ofPage(OFF, null)).toMatchObject(OFF)
})
