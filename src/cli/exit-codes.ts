import { EXIT } from '../base/errors.ts'

/** What the exit codes mean: --help and docs/exit-codes.md say it in these words. */
export const EXIT_CODES: readonly (readonly [code: number, means: string])[] = [
  [EXIT.ok, 'fine; also: superseded by a newer runner, drained after a signal'],
  [EXIT.failed, 'failed; also: the database was not there within `--wait-db`'],
  [
    EXIT.usage,
    'wrong usage or configuration (a refused login, a database or host that does not exist, TLS); ' +
      'nothing was changed',
  ],
  [EXIT.noRunner, '`status`: no live runner'],
  [EXIT.partial, '`add --run` or `--wait`: finished, but the outcome of some page is `failed`; `partial` ones are 0'],
  [EXIT.defect, 'a defect of the program: `logs/runner.log` says where; its work is due again'],
  [
    EXIT.interrupted,
    'ended by a second Ctrl-C; `add --run` or `--wait`: interrupted before the end; ' +
      'any command: interrupted while it waited for the database',
  ],
]
