import { describe, expect, test } from 'vitest'
import { AppError } from '../../../src/base/errors.ts'
import { explainDatabaseError, isComingUp } from '../../../src/db/trouble.ts'

const url = 'postgres://somebody:secret@db.example/archive'
const CONNECTING = { syscall: 'connect' }
const errorOf = (code: string) =>
  Object.assign(new Error(`what the driver says about ${code}`), { code, ...CONNECTING })

describe('an error of the way to a database', () => {
  test.each([
    '57P03',
    '57P01',
    '57P02',
    '08006',
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOENT',
    'EAI_AGAIN',
    'ETIMEDOUT',
    'EHOSTUNREACH',
  ])('%s is waited for, and ends with 1', (code) => {
    expect(isComingUp(errorOf(code))).toBe(true)
    expect(explainDatabaseError(errorOf(code), url)).toMatchObject({ exitCode: 1 })
  })

  test.each([
    '28P01',
    '28000',
    '3D000',
    'ENOTFOUND',
    'EACCES',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    '25006',
  ])('%s is said at once, with 2', (code) => {
    const error = Object.assign(new Error(`what the server says about ${code}`), {
      code,
      ...(code === 'EACCES' && CONNECTING),
    })
    expect(explainDatabaseError(error, url)).toMatchObject({ exitCode: 2 })
    expect(isComingUp(error)).toBe(false)
  })

  test('never shows the password, and what was explained stays as it is', () => {
    const explained = explainDatabaseError(errorOf('ECONNREFUSED'), url)
    expect(explained).toBeInstanceOf(AppError)
    expect((explained as AppError).message).not.toContain('secret')
    expect(explainDatabaseError(explained, url)).toBe(explained)
  })
})
