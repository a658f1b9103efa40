import { hostname } from 'node:os'
import type { AppEvent } from '../app/events.ts'
import { many } from './format.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/** Says what happens while something else is done. */
export function sayMeanwhile(event: AppEvent): void {
  for (const line of linesOf(event)) terminal.say(line)
}

/** The same as lines, in words. */
function linesOf(event: AppEvent): string[] {
  switch (event.event) {
    case 'left out': {
      const { reasons, more } = event
      const all = more > 0 ? [...reasons, `${more} more like these`] : reasons
      return all.map((reason) => `${onStderr.yellow('left out:')} ${reason}`)
    }
    case 'cookies expired': {
      const { persona, cookies, expired } = event
      return [
        `${onStderr.yellow('careful:')} ${expired} of ${many(cookies, 'cookie')} of persona ${persona} ` +
          `${expired === 1 ? 'has' : 'have'} expired: archivebox-ts persona show ${persona}`,
      ]
    }
    case 'no setting':
      return [
        `${onStderr.yellow('careful:')} ${event.name} in ${event.path} is no setting: did you mean ${event.meant}?`,
      ]
    case 'overridden':
      return [`${onStderr.yellow('careful:')} ${event.name} is set ${event.where}, too, and that wins`]
    case 'persona made':
      return [`made persona ${event.name}`]
    case 'login ready':
      return loginLines(event.address)
    case 'logins kept': {
      const { persona, cookies, origins } = event
      const session = cookies.filter(({ expires }) => expires === undefined).length
      const parts = [
        cookies.length === 0 ? 'no site has set a cookie' : `kept ${many(cookies.length, 'cookie')}`,
        session > 0 && `${session} of them until the site ends the session`,
        origins.length > 0 && `and the storage of ${origins.map(({ origin }) => origin).join(', ')}`,
      ]
      return [`${persona}: ${parts.filter(Boolean).join(', ')}`]
    }
    case 'visit note':
      return [event.text]
    case 'installing':
      return [`installing ${event.name} into ${event.folder}`]
    case 'mended':
      return [`${event.name}: ${event.what}`]
    case 'waiting for database': {
      const { why, budgetMs, minutes } = event
      return minutes === undefined
        ? [`the database is not ready yet, waiting for it (up to ${budgetMs / 1000} s): ${why}`]
        : [`still waiting for the database, ${minutes} min by now: ${why}`]
    }
    case 'database ready':
      return [`the database is ready after ${event.seconds} s`]
    case 'database away':
      return [`the database is away, waiting for it (up to ${event.budgetMs / 1000} s): ${event.why}`]
    case 'database made':
      return ['the database is made']
    case 'schema changed':
      // The names of the steps tell something only where there was a schema before.
      return [`database schema: applied ${event.applied.join(', ')}`]
    case 'copied data dir':
      return [
        `${event.dataDir} is a copy of another data dir: it gets an identity of its own`,
        ...(event.torn
          ? [
              'its database was in use while it was copied: should it be damaged, end what uses the original ' +
                'and copy it again',
            ]
          : []),
      ]
    case 'making database': {
      const { place, insteadOf } = event
      const why = insteadOf ? `, because user ${insteadOf.user} cannot enter ${insteadOf.dataDir}` : ''
      return [`Making the database in ${place}${why}`]
    }
    case 'database on network file system':
      return [
        `careful: ${event.place} lies on a network file system (${event.fileSystem}), where a database is not safe`,
      ]
    case 'fetching PostgreSQL':
      return [`fetching PostgreSQL ${event.major} (${event.from})`]
    case 'waiting for older runner':
      return [`${event.runner}: ${event.isAsked ? 'asked to hand over, ' : ''}waiting for it to end`]
  }
}

function loginLines(address: string | undefined): string[] {
  if (address === undefined) return ['log in in the window; then press Enter here, or close the window']
  const port = address.split(':').at(-1)
  return [
    'no window here: the browser waits for the DevTools of another one',
    `  1. on your machine: ssh -N -L ${port}:${address} ${hostname()}`,
    `  2. in its Chrome or Chromium: chrome://inspect, "Configure...", localhost:${port}, "inspect"`,
    'until you are done, other accounts of this machine can reach that port, too',
    'log in; then press Enter here',
  ]
}
