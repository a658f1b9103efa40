import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { hasPassword, secretsIn, withoutSecrets, withPassword } from '../../../src/base/secrets.ts'
import { maskPassword } from '../../../src/db/trouble.ts'
import { newFolder } from '../../support/folders.ts'

it('reads a secret from the file that is named, else from the credential; what is set already is left', () => {
  const folder = newFolder()
  const file = join(folder, 'url')
  writeFileSync(file, 'postgres://from/file\n')
  writeFileSync(join(folder, 'database-url'), 'postgres://from/credential\n')
  const given = { CREDENTIALS_DIRECTORY: folder }
  expect(secretsIn({ ...given, DATABASE_URL_FILE: file })).toEqual({ DATABASE_URL: 'postgres://from/file' })
  expect(secretsIn(given)).toEqual({ DATABASE_URL: 'postgres://from/credential' })
  expect(secretsIn({ ...given, DATABASE_URL: '' })).toEqual({})
  expect(secretsIn({ CREDENTIALS_DIRECTORY: join(folder, 'none') })).toEqual({})
  writeFileSync(file, ' \n')
  expect(() => secretsIn({ DATABASE_URL_FILE: file })).toThrow('is empty')
  expect(() => secretsIn({ DATABASE_URL_FILE: join(folder, 'none') })).toThrow('DATABASE_URL_FILE: cannot read')
  rmSync(folder, { recursive: true })
})

it('hands no secret on in the environment of a child', () => {
  const env = { HOME: '/', DATABASE_URL: 'a', PGPASSWORD: 'b', CREDENTIALS_DIRECTORY: 'c', PGUSER: 'me' }
  expect(withoutSecrets(env)).toEqual({ HOME: '/', PGUSER: 'me' })
})

it('puts the password of PGPASSWORD into a URL that has none, where it is shown to nobody', () => {
  expect(withPassword('postgres://me@host/db', 'p&w')).toBe('postgres://me@host/db?password=p%26w')
  expect(withPassword('postgres://me@host/db?sslmode=disable', 'p')).toMatch(/disable&password=p$/)
  expect(withPassword('postgres://me:own@host/db', 'p')).toBe('postgres://me:own@host/db')
  expect(maskPassword('postgres://me@host/db?password=p%26w&x=1')).toBe('postgres://me@host/db?password=***&x=1')
  expect(hasPassword('postgres://me@host:5432/db')).toBe(false)
})
