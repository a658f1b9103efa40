import { type Makes, makesIn } from '../../base/makes.ts'
import { own } from '../../base/own.ts'

/** What the plugins of ArchiveBox's own suite make, which do not declare it: `makes` in our form. */
const SUITE_MAKES: Readonly<Record<string, object>> = {
  archivewebpage: { group: 'page', mainFile: 'archivewebpage.wacz' },
  article: { group: 'text' },
  chrome_launch: { isCopy: false },
  chrome_navigate: { isCopy: false },
  chrome_screencast: { isCopy: false },
  chrome_tab: { isCopy: false },
  defuddle: { group: 'text', rank: 11, text: 'content.txt' },
  dns: { isCopy: false },
  forumdl: { group: 'media', fetchesItself: true },
  gallerydl: { group: 'media', fetchesItself: true },
  infiniscroll: { isCopy: false },
  istilldontcareaboutcookies: { isCopy: false },
  liteparse: { group: 'text' },
  media: { group: 'media' },
  mercury: { group: 'text', rank: 10, text: 'content.txt' },
  modalcloser: { isCopy: false },
  opendataloader: { group: 'text' },
  papersdl: { group: 'text', fetchesItself: true },
  ssl: { isCopy: false },
  sslcerts: { isCopy: false },
  trafilatura: { group: 'text', rank: 12, text: 'content.txt' },
  twocaptcha: { isCopy: false },
  ublock: { isCopy: false },
  youtubedl: { group: 'media' },
}

/** What a plugin declares: its name, and `makes` in its config.json. */
interface Said {
  readonly name: string
  readonly makes: unknown
}

/** What a plugin declares that it makes; for ArchiveBox's own suite we know it. Undefined: unknown. */
export function saidBy({ name, makes }: Said): object | undefined {
  return typeof makes === 'object' && makes !== null && !Array.isArray(makes) ? makes : own<object>(SUITE_MAKES, name)
}

/** What a plugin makes. */
export const meaningOf = (said: Said): Makes => makesIn(saidBy(said))
