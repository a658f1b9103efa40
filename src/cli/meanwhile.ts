import { hostname } from 'node:os'
import type { AppEvent } from '../app/events.ts'
import { duration, number, sizeText } from '../base/words.ts'
import { many } from './format.ts'
import { onStderr } from './screen/palette.ts'
import { terminal } from './terminal.ts'

/** Reports what happens in the background of a command. */
export function sayMeanwhile(event: AppEvent): void {
  for (const line of linesOf(event)) terminal.say(line)
}

/** An event as lines of text. */
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
        `${onStderr.yellow('warning:')} ${expired} of ${many(cookies, 'cookie')} of persona ${persona} ` +
          `${expired === 1 ? 'has' : 'have'} expired: archivebox-ts persona show ${persona}`,
      ]
    }
    case 'no setting':
      return [
        `${onStderr.yellow('warning:')} ${event.name} in ${event.path} is not a setting: did you mean ${event.meant}?`,
      ]
    case 'overridden':
      return [`${onStderr.yellow('warning:')} ${event.name} is also set ${event.where}, which overrides this`]
    case 'persona made':
      return [`created persona ${event.name}`]
    case 'login ready':
      return loginLines(event.address)
    case 'logins kept': {
      const { persona, cookies, origins } = event
      const session = cookies.filter(({ expires }) => expires === undefined).length
      const parts = [
        cookies.length === 0 ? 'no site has set a cookie' : `kept ${many(cookies.length, 'cookie')}`,
        session > 0 && `${session} of them for this session only`,
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
        : [`still waiting for the database, for ${minutes} min now: ${why}`]
    }
    case 'database ready':
      return [`the database is ready after ${event.seconds} s`]
    case 'database away':
      return [`the database is unavailable, waiting for it (up to ${event.budgetMs / 1000} s): ${event.why}`]
    case 'database made':
      return ['the database is created']
    case 'schema change begins': {
      const { from, to, rewritten, seconds } = event
      return [
        `database schema: from version ${from} to ${to}, ${number(rewritten)} rows to write, about ` +
          `${duration(seconds)}; if it is interrupted, nothing has changed`,
      ]
    }
    case 'rows backed up':
      return [`the rows as they were, of schema version ${event.schema}: ${event.file}`]
    case 'schema changed':
      // The names of the steps matter only where there was a schema before.
      return [`database schema: applied ${event.applied.join(', ')}`]
    case 'copied data dir':
      return [
        `${event.dataDir} is a copy of another data dir: it gets a new identity`,
        ...(event.torn
          ? [
              'its database was in use while it was copied; if it is damaged, stop what uses the original ' +
                'and copy it again',
            ]
          : []),
      ]
    case 'making database': {
      const { place, insteadOf } = event
      const why = insteadOf ? `, because user ${insteadOf.user} cannot enter ${insteadOf.dataDir}` : ''
      return [`Creating the database in ${place}${why}`]
    }
    case 'database on network file system':
      return [`warning: ${event.place} is on a network file system (${event.fileSystem}), where a database is not safe`]
    case 'fetching PostgreSQL':
      return [`fetching PostgreSQL ${event.major} (${event.from})`]
    case 'upgrading database': {
      const { from, to, bytes, neededBytes, seconds } = event
      return [
        `copying ${sizeText(bytes)} from PostgreSQL ${from} to ${to}: up to ${duration(seconds)}, ` +
          `and ${sizeText(neededBytes)} of disk; until then the old database stays as it is`,
      ]
    }
    case 'moving database': {
      const { to, bytes, neededBytes, seconds } = event
      return [
        `copying a database of ${sizeText(bytes)} to ${to}: up to ${duration(seconds)}, about as much room there, ` +
          `and ${sizeText(neededBytes)} here meanwhile; until all of it is there, the embedded one stays as it is`,
      ]
    }
    case 'table moved':
      return event.rows > 0 ? [`  ${event.table}: ${many(event.rows, 'row')}`] : []
    case 'waiting for older runner':
      return [`${event.runner}: ${event.isAsked ? 'asked to hand over, ' : ''}waiting for it to end`]
  }
}

function loginLines(address: string | undefined): string[] {
  if (address === undefined) return ['log in in that window; then press Enter here, or close it']
  const port = address.split(':').at(-1)
  return [
    'there is no display here: open the browser from another machine, through its DevTools',
    `  1. on your machine: ssh -N -L ${port}:${address} ${hostname()}`,
    `  2. in its Chrome or Chromium: chrome://inspect, "Configure...", localhost:${port}, "inspect"`,
    'until you are done, other accounts of this machine can also reach that port',
    'log in; then press Enter here',
  ]
}
