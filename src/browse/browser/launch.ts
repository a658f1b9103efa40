import { join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { flag, list, text } from '../../base/env-settings.ts'
import { languagesIn } from './languages.ts'
import type { Browser } from './packaged.ts'
import { type RunningBrowser, startBrowser } from './start-browser.ts'

const FLAGS = [
  '--headless=new',
  '--log-level=2', // Errors only, without what pages log.
  '--hide-scrollbars',
  '--mute-audio',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--disable-gpu',
  // No windows, requests, dialogs or files that a page's visit does not need.
  '--block-new-web-contents',
  '--deny-permission-prompts',
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-notifications',
  '--disable-sync',
  '--no-pings',
  // Background pages work like those in front.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]
const FEATURES_OFF = 'Translate,MediaRouter,OptimizationHints,PaintHolding'
/** All frames of a page share one process: that costs one renderer. */
const TOGETHER = [
  '--disable-site-isolation-trials',
  `--disable-features=IsolateOrigins,site-per-process,${FEATURES_OFF}`,
]
/** A frame of another site that is compromised cannot read what a login shows in the page, or the reverse. */
const APART = ['--site-per-process', `--disable-features=${FEATURES_OFF}`]

/**
 * Launches a browser for captures with a profile in `folder`: see `startBrowser`.
 * @param short a folder with a short path, for this account alone: for our socket and the browser's
 * @param network arguments that determine how it connects
 * @param isIsolated whether each site has its own process
 */
export async function launchBrowser(
  browser: Browser,
  folder: string,
  short: string,
  env: Texts,
  network: readonly string[] = [],
  isIsolated = false,
): Promise<RunningBrowser> {
  const [language] = languagesIn(env['CHROME_LANGUAGE'])
  const userAgent = text(env, 'CHROME_USER_AGENT')
  const args = [
    ...FLAGS,
    ...(isIsolated ? APART : TOGETHER),
    ...(flag(env, 'CHECK_SSL_VALIDITY', true) ? [] : ['--ignore-certificate-errors']),
    ...(language === undefined ? [] : [`--lang=${language}`]),
    // Tabs set it, too, but it also covers the browser's own requests.
    ...(userAgent === undefined ? [] : [`--user-agent=${userAgent}`]),
    ...list(env, 'CHROME_ARGS_EXTRA', []),
    ...network,
    '--no-startup-window', // A tab that is never used takes 15 MB.
  ]
  return await startBrowser({ browser, folder, profile: join(folder, 'profile'), short, settings: env, env, args })
}
