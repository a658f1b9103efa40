import { SETTERS, SETTINGS, type Setter, type Setting, stricter } from '../base/config.ts'
import { own } from '../base/own.ts'

/** What is known of a setting that a plugin declares, as far as it says who may set it. */
export interface Declaration {
  readonly name: string
  readonly fallback: string | undefined
  /** `x-set-by` in its config.json. */
  readonly given: unknown
  /** Does its value say no more than how much, or which of a few: a flag, a number, a word of a list, a time zone? */
  readonly isPlain: boolean
  readonly secret: boolean
}

/** Where programs and files lie, and what changes how any program runs, by the name alone. */
const OF_MACHINE = new RegExp(
  `(^|_)(BINARY|BIN|DIRS?|PATHS?|HOME|SANDBOX)$|^(${[
    'USER|LOGNAME|SHELL|TMPDIR|IFS|ENV|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|XDG_[A-Z_]+',
    '(LD|DYLD|GLIBC|BASH|MALLOC)_[A-Z_]+|NODE_(OPTIONS|DEBUG|V8_COVERAGE|REPL_[A-Z_]+|CHANNEL_[A-Z_]+)',
    'PYTHON[A-Z0-9]+|PERL5[A-Z]+|RUBY[A-Z]+|GCONV_PATH|HOSTALIASES',
  ].join('|')})$`,
)
/** What a program is told, with whom it talks, and what it takes for true. */
const OF_PERSON =
  /(^|_)(ARGS|FILE|URL|HOST|HOSTNAME|PORT|PROXY|CMD|COMMAND)(_|$)|SSL|TLS|CERT|VERIFY|INSECURE|UNSAFE|PRIVATE/

/** Is this for the configuration of a machine alone, whatever a config.json says of it? */
export function isOfMachine(name: string): boolean {
  return OF_MACHINE.test(name)
}

/**
 * Who may set what a plugin declares. Without `x-set-by` it is as for the setting of the program on which it falls
 * back; else plain values are for everybody, and all others, which may be arguments, files or addresses, are not.
 */
export function setterOf({ name, fallback, given, isPlain, secret }: Declaration): Setter {
  if (isOfMachine(name)) return 'machine'
  const said = SETTERS.find((setter) => setter === given)
  if (said !== undefined) return said
  const general = own<Setting>(SETTINGS, fallback ?? '')
  const setter = general?.by ?? (isPlain && !OF_PERSON.test(name) ? 'page' : 'persona')
  return secret ? stricter(setter, 'persona') : setter
}
