import { describe, expect, it } from 'vitest'
import { flag, whole } from '../../../src/base/kinds.ts'
import { declaredSettings } from '../../../src/hooks/declared.ts'
import { givenTexts, readDeclared, resolvedTexts } from '../../../src/hooks/resolved.ts'

const declares = declaredSettings({
  properties: {
    P_ENABLED: { type: 'boolean', default: false, 'x-aliases': ['USE_P', 'SAVE_P'] },
    P_SECONDS: { type: 'integer', default: 120, minimum: 5, 'x-fallback': 'GROUP_SECONDS' },
    GROUP_SECONDS: { type: 'integer', default: 90, 'x-aliases': ['OLD_SECONDS'], 'x-fallback': 'SECONDS' },
    P_ROOT: { type: 'string', default: '{LIB}/p' },
    P_FILE: { type: 'string', default: '{P_ROOT}/file of {NOBODY}' },
    P_ARGS: { type: 'array', default: ['--in', '{P_ROOT}'] },
    P_WORD: { type: 'string', enum: ['one', 'two'], default: 'two' },
    P_ROUND: { type: 'string', default: '{P_ROUND}' },
    P_LOOP: { type: 'string', 'x-fallback': 'P_LOOP' },
    P_NONE: { type: 'string' },
  },
})

describe('a setting that a plugin declares', () => {
  it.each([
    [{}, []],
    [{ SECONDS: '1' }, ['1']],
    [{ SECONDS: '1', OLD_SECONDS: '2' }, ['2', '1']],
    [{ SECONDS: '1', OLD_SECONDS: '2', GROUP_SECONDS: '3', P_SECONDS: '4' }, ['4', '3', '2', '1']],
  ])('is given by %j as %j: its name, its other names, then the one on which it falls back', (texts, given) =>
    expect(givenTexts(declares, 'P_SECONDS', texts)).toEqual(given),
  )

  it('ends where fallbacks go in a circle', () =>
    expect(givenTexts(declares, 'P_LOOP', { P_LOOP: 'x' })).toEqual(['x']))

  it.each([
    [{}, 120],
    [{ SECONDS: '30' }, 30],
    [{ P_SECONDS: 'soon', SECONDS: '30' }, 30],
    [{ P_SECONDS: 'soon' }, 120],
  ])('has in %j the value %j: no general default comes before its own', (texts, value) =>
    expect(readDeclared(declares, 'P_SECONDS', texts, whole())).toBe(value),
  )

  it('is on or off by default, by its other names, and by a blank', () => {
    const isOn = (texts: Record<string, string>) => readDeclared(declares, 'P_ENABLED', texts, flag)
    expect([isOn({}), isOn({ SAVE_P: 'yes' }), isOn({ USE_P: '1', P_ENABLED: 'no' })]).toEqual([false, true, false])
    expect(readDeclared(declares, 'NOBODY_ENABLED', {}, flag)).toBeUndefined()
  })

  it('reaches a hook as ArchiveBox writes it, with {NAME} filled in', () => {
    expect(resolvedTexts(declares, { SECONDS: '30', P_WORD: 'three' }, { LIB: '/lib' }, true)).toEqual({
      P_ENABLED: 'False',
      P_SECONDS: '30',
      GROUP_SECONDS: '30',
      P_ROOT: '/lib/p',
      P_FILE: '/lib/p/file of {NOBODY}',
      P_ARGS: '["--in","/lib/p"]',
      P_WORD: 'two',
      P_ROUND: '{P_ROUND}',
    })
  })

  it.each([
    ['["--as={AGENT}"]', 'me", "-O", "/evil', ['--as=me", "-O", "/evil']],
    ['["--as={AGENT}", "-4"]', 'back\\slash', ['--as=back\\slash', '-4']],
    ['--as={AGENT},-4', 'me,-O,/evil', ['--as=me,-O,/evil', '-4']],
    ['{AGENT}', '["-O"]', ['["-O"]']],
  ])('stays as many arguments as it was written with: %j with %j', (args, agent, words) => {
    const { P_ARGS = '' } = resolvedTexts(declares, { P_ARGS: args, AGENT: agent }, {}, false)
    expect(JSON.parse(P_ARGS)).toEqual(words)
  })

  it('reaches a hook that knows its defaults only when somebody has set it', () => {
    expect(resolvedTexts(declares, { USE_P: 'on', P_SECONDS: '4' }, {}, false)).toEqual({ P_ENABLED: 'on' })
  })
})
