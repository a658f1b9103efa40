import { Option } from 'commander'
import { expect, it } from 'vitest'
import { commandTree } from '../../../src/cli/program.ts'
import { collect, Verb, verb } from '../../../src/cli/verb.ts'

it.each([
  ['--file', 'add --file a.txt --file=b.txt'],
  ['--tag', 'snapshot create --tag a https://example.com --tag b'],
  ['--every', 'schedule add --every day --every week https://example.com'],
  ['--status', 'snapshot list --status queued --status sealed'],
  ['--output', 'crawl list -o ids --output csv'],
  ['-n', 'crawl list -n 1 -n 2'],
  ['--data-dir', '--data-dir a crawl list --data-dir b'],
])('refuses %s twice', async (option, line) => {
  const given = commandTree().parseAsync(['node', 'archivebox-ts', ...line.split(' ')])
  await expect(given).rejects.toThrow(`${option} is given twice`)
})

it('takes twice what collects its values, and what has none', async () => {
  const root = new Verb('archivebox-ts')
  let given: object = {}
  verb(root, 'do', '')
    .addOption(new Option('-c <word>').argParser(collect).default([]))
    .option('--dry-run')
    .option('--no-color')
    .action((options: object) => {
      given = options
    })
  for (const word of ['a', 'b']) {
    await root.parseAsync(['node', 'archivebox-ts', 'do', '-c', word, '-c', 'z', ...'--dry-run --no-color'.split(' ')])
    expect(given).toEqual({ c: [word, 'z'], dryRun: true, color: false })
  }
  await root.parseAsync('node archivebox-ts do --dry-run --dry-run --no-color --no-color'.split(' '))
})
