import type { CookiesExpired } from './add/crawl-persona.ts'
import type { LeftOut } from './add/intake.ts'
import type { MoveEvent } from './database/move.ts'
import type { Mended } from './doctor/doctor.ts'
import type { PersonaMade } from './personas/change.ts'
import type { VisitNote } from './personas/check-page.ts'
import type { LoginReady, LoginsKept } from './personas/login.ts'
import type { Installing } from './plugins/install-needed.ts'
import type { NoSetting } from './settings/configure.ts'
import type { Overridden } from './settings/set-settings.ts'

/** All events that callers are told of while a call runs, to be put into words; without progress. */
export type AppEvent =
  | MoveEvent
  | LeftOut
  | CookiesExpired
  | NoSetting
  | Overridden
  | Mended
  | PersonaMade
  | LoginReady
  | LoginsKept
  | VisitNote
  | Installing
