import { expect, it } from 'vitest'
import { shownCommand } from '../../../src/base/shown-command.ts'

it('a command line is kept without the passwords and settings in it', () => {
  const argv = [
    'node',
    'main.js',
    'add',
    '--database-url',
    'postgres://me:secret@host/db',
    '-c',
    'API_KEY=secret',
    '-cTOKEN=secret',
    '--config=A=secret',
  ]
  const shown = shownCommand([...argv, 'https://example.com/?a=b', '--tag', 'x=y'])
  expect(shown.join(' ')).not.toContain('secret')
  expect(shown).toEqual([
    ...[
      'node',
      'main.js',
      'add',
      '--database-url',
      'postgres://me:***@host/db',
      '-c',
      'API_KEY=***',
      '-cTOKEN=***',
      '--config=A=***',
    ],
    ...['https://example.com/?a=b', '--tag', 'x=y'],
  ])
})
