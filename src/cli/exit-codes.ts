import { EXIT } from '../base/errors.ts'

/** What the exit codes mean: --help and docs/exit-codes.md say it in these words. */
export const EXIT_CODES: readonly (readonly [code: number, means: string])[] = [
  [EXIT.ok, 'fine; also: superseded by a newer runner, drained after a signal'],
  [EXIT.failed, 'failed; also: the database did not answer within `--wait-db`'],
  [
    EXIT.usage,
    'wrong usage or configuration (such as a refused login, an unknown database or host, or TLS); ' +
      'nothing was changed',
  ],
  [EXIT.noRunner, '`status`: no live runner'],
  [
    EXIT.partial,
    '`add --run` or `--wait`: finished, but some page has the outcome `failed` (`partial` exits with 0), ' +
      'or there is no page',
  ],
  [EXIT.defect, 'a defect of the program: `logs/runner.log` has the details; its work is queued again'],
  [
    EXIT.interrupted,
    'ended by a second Ctrl-C; `add --run` or `--wait`: interrupted before the end; ' +
      'any command: interrupted while it waited for the database',
  ],
]
