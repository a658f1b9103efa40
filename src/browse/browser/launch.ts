import { join } from 'node:path'
import type { Texts } from '../../base/config.ts'
import { flag, list, text } from '../../base/env-settings.ts'
import { languagesIn } from './languages.ts'
import type { Browser } from './packaged.ts'
import { type RunningBrowser, startBrowser } from './start-browser.ts'

const FLAGS = [
  '--headless=new',
  '--log-level=2', // Errors: not what pages say.
  '--hide-scrollbars',
  '--mute-audio',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
  '--disable-gpu',
  // No window, request, question or file but what a page's visit is about.
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
  // Pages that are not in front work like those that are.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
]
const FEATURES_OFF = 'Translate,MediaRouter,OptimizationHints,PaintHolding'
/** A page's frames are in one process: it costs one renderer. */
const TOGETHER = [
  '--disable-site-isolation-trials',
  `--disable-features=IsolateOrigins,site-per-process,${FEATURES_OFF}`,
]
/** What a frame of another site is broken into cannot read what a login shows in the page, nor the other way round. */
const APART = ['--site-per-process', `--disable-features=${FEATURES_OFF}`]

/**
 * Launches a browser for captures with a profile in `folder`: see `startBrowser`.
 * @param short a folder with a short path, for this account alone: for our socket and the browser's own
 * @param network arguments that say how it connects
 * @param isIsolated each site has a process of its own
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
    // Tabs have it, too, but not what the browser requests by itself.
    ...(userAgent === undefined ? [] : [`--user-agent=${userAgent}`]),
    ...list(env, 'CHROME_ARGS_EXTRA', []),
    ...network,
    '--no-startup-window', // The tab that nobody visits takes 15 MB.
  ]
  return await startBrowser({ browser, folder, profile: join(folder, 'profile'), short, settings: env, env, args })
}
