import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { settleHooks } from '../../../src/workers/sequence/hook-settle.ts'
import { made, names, published, root, tree, useWorkTree } from '../../support/work-trees.ts'

useWorkTree()

/** Settles a hook that exited with 0 and printed this. */
async function settled(plugin: string, printed: object, hosted = false) {
  const logs = { stdout: join(root, '.out'), stderr: join(root, '.err') }
  writeFileSync(logs.stdout, `${JSON.stringify(printed)}\n`, { mode: 0o600 })
  const hook = { plugin, name: 'on_Snapshot__1.sh', timeoutMs: 1000, hosted, mustReport: false }
  const end = { exit: { code: 0, signal: null }, cause: 'exit', logs } as const
  const [verdict] = await settleHooks(tree, [{ hook, attempt: 1, end, isLast: true }])
  return { event: verdict!.event, files: Object.keys(verdict!.published?.written ?? {}) }
}

const said = (status: string, output_str = '') => ({ type: 'ArchiveResult', status, output_str })

it('a hook that found nothing keeps the file that says so, empty as it is', async () => {
  made('sslcerts', 'sslcerts.jsonl', '')
  expect(await settled('sslcerts', said('noresults'))).toEqual({ event: 'empty', files: ['sslcerts.jsonl'] })
  expect(published('sslcerts/sslcerts.jsonl')).toBe('')
  expect(await settled('title', said('noresults'))).toEqual({ event: 'empty', files: [] })
  expect(names()).toEqual(['.out', 'sslcerts'])
})

it('what a hook of the host said on stderr has a file, and the reason when it gave none', async () => {
  const logs = { stdout: join(root, '.out'), stderr: join(root, '.err') }
  const hook = { plugin: 'title', name: 'on_Snapshot__1.js', timeoutMs: 1000, hosted: true, mustReport: false }
  const end = { exit: { code: 1, signal: null }, cause: 'exit', logs, stdout: '' } as const
  const settle = async (said: string) =>
    (await settleHooks(tree, [{ hook, attempt: 1, end: { ...end, said }, isLast: true }]))[0]!.output
  expect(await settle('')).not.toContain('no such page')
  expect(existsSync(logs.stderr)).toBe(false)
  expect(await settle('looked\nno such page\n')).toContain('no such page')
  expect(readFileSync(logs.stderr, 'utf8')).toBe('looked\nno such page\n')
})

it('what staticfile printed lies beside its files for the hooks to come, and is no output', async () => {
  made('staticfile', 'doc.pdf', 'PDF')
  for (const _round of [1, 2]) {
    expect((await settled('staticfile', said('succeeded'))).files).not.toContain('stdout.log')
    expect(readFileSync(join(tree.work, 'staticfile', 'stdout.log'), 'utf8')).toContain('"succeeded"')
    expect(statSync(join(tree.work, 'staticfile', 'stdout.log')).mode & 0o777).toBe(0o644)
    expect(existsSync(join(root, 'staticfile', 'stdout.log'))).toBe(false)
  }
  made('dom', 'output.html', 'x')
  await settled('dom', said('succeeded'))
  expect(existsSync(join(tree.work, 'dom', 'stdout.log'))).toBe(false)
})

it('a file that is not what staticfile says is left to the hooks to come', async () => {
  made('staticfile', 'own.txt', 'x')
  made('responses', 'all/viewer.pdf', '\n<!DOCTYPE html>\n<embed type="application/x-google-chrome-pdf">')
  const log = join(tree.work, 'staticfile', 'stdout.log')
  for (const [file, isKept] of [
    ['responses/all/viewer.pdf', false],
    ['staticfile/own.txt', true],
    ['staticfile/missing.pdf', true],
  ] as const) {
    await settled('staticfile', said('succeeded', file))
    expect(existsSync(log), file).toBe(isKept)
  }
})

it('a retry that finds nothing leaves the good copy of an earlier hook', async () => {
  made('dom', 'output.html', 'the page')
  await settled('dom', said('succeeded'))
  made('dom', 'output.html', '')
  expect(await settled('dom', said('noresults'))).toEqual({ event: 'empty', files: [] })
  expect(published('dom/output.html')).toBe('the page')
})

it('a hook that was killed failed for that, and not for what it said last', async () => {
  const logs = { stdout: join(root, '.out'), stderr: join(root, '.err') }
  const hook = { plugin: 'dom', name: 'on_Snapshot__1.sh', timeoutMs: 1000, hosted: false, mustReport: false }
  const outputOf = async (code: number | null, signal: NodeJS.Signals | null) => {
    writeFileSync(logs.stdout, '')
    writeFileSync(logs.stderr, 'trying once more\n')
    const end = { exit: { code, signal }, cause: 'exit', logs } as const
    return (await settleHooks(tree, [{ hook, attempt: 1, end, isLast: true }]))[0]!.output
  }
  expect(await outputOf(null, 'SIGKILL')).toBe('it ended with signal SIGKILL: trying once more')
  expect(await outputOf(1, null)).toBe('trying once more')
})
