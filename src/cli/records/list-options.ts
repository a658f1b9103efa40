import { Option } from 'commander'
import type { Verb } from '../verb.ts'

/** The formats of a list; `json` is `jsonl`, as with `--json`. */
const FORMATS = ['table', 'wide', 'json', 'jsonl', 'csv', 'ids'] as const
export type Format = (typeof FORMATS)[number]

/** The options of every list. */
export function listOptions(command: Verb): Verb {
  return command
    .option('-n <count>', 'at most this many')
    .option('--wide', 'full ids, every column, nothing cut')
    .addOption(new Option('-o, --output <format>', 'the output format').choices(FORMATS))
    .option('--columns <names>', 'only these columns of the table or fields of the records, comma-separated')
}
