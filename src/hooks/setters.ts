import { SETTERS, SETTINGS, type Setter, type Setting, stricter } from '../base/config.ts'
import { own } from '../base/own.ts'

/** The declaration of a plugin's setting, as far as it decides who may set it. */
export interface Declaration {
  readonly name: string
  readonly fallback: string | undefined
  /** `x-set-by` in its config.json. */
  readonly given: unknown
  /** Whether its value is only an amount or a choice: a flag, a number, a word of a list, a time zone. */
  readonly isPlain: boolean
  readonly secret: boolean
}

/** Paths of programs and files, and settings that change how any program runs, by the name alone. */
const OF_MACHINE = new RegExp(
  `(^|_)(BINARY|BIN|DIRS?|PATHS?|HOME|SANDBOX)$|^(${[
    'USER|LOGNAME|SHELL|TMPDIR|IFS|ENV|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_[A-Z_]+',
    '(LD|DYLD|GLIBC|BASH|MALLOC)_[A-Z_]+|NODE_(OPTIONS|DEBUG|V8_COVERAGE|REPL_[A-Z_]+|CHANNEL_[A-Z_]+)',
    'PYTHON[A-Z0-9]+|PERL5[A-Z]+|RUBY[A-Z]+|GCONV_PATH|HOSTALIASES',
  ].join('|')})$`,
)
/** Settings that control a program, whom it contacts, and what it trusts. */
const OF_PERSON =
  /(^|_)(ARGS|FILE|URL|HOST|HOSTNAME|PORT|PROXY|CMD|COMMAND)(_|$)|SSL|TLS|CERT|VERIFY|INSECURE|UNSAFE|PRIVATE/

/** Whether only the configuration of a machine may set it, whatever a config.json says. */
export function isOfMachine(name: string): boolean {
  return OF_MACHINE.test(name)
}

/**
 * Who may set what a plugin declares. Without `x-set-by` it is the same as for the setting of the program that it falls
 * back on; else everybody may set plain values, but not others, which may be arguments, files or addresses.
 */
export function setterOf({ name, fallback, given, isPlain, secret }: Declaration): Setter {
  if (isOfMachine(name)) return 'machine'
  const said = SETTERS.find((setter) => setter === given)
  if (said !== undefined) return said
  const general = own<Setting>(SETTINGS, fallback ?? '')
  const setter = general?.by ?? (isPlain && !OF_PERSON.test(name) ? 'page' : 'persona')
  return secret ? stricter(setter, 'persona') : setter
}
