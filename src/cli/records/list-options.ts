import { Option } from 'commander'
import type { Verb } from '../verb.ts'

/** How a list can be shown. */
const FORMATS = ['table', 'wide', 'jsonl', 'csv', 'ids'] as const
export type Format = (typeof FORMATS)[number]

/** The options of every list. */
export function listOptions(command: Verb): Verb {
  return command
    .option('-n <count>', 'at most so many')
    .option('--wide', 'whole ids, every column, nothing cut')
    .addOption(new Option('-o, --output <format>', 'how to show them').choices(FORMATS))
    .option('--columns <names>', 'only these: columns of the table, or fields of the records, comma-separated')
}
