import type { Mutant } from './mutant.ts'

/** Mechanisms of src/hooks. */
export const HOOKS: readonly Mutant[] = [
  {
    name: 'hooks carry no mark of their runner',
    file: 'src/hooks/environment.ts',
    find: '    [MARKER.runner]: ids.runnerId,\n',
    replacement: '',
    test: 'test/crash/guardian.test.ts',
    only: 'by that leader’s mark alone',
  },
  {
    name: 'hooks carry no mark of their worker',
    file: 'src/hooks/environment.ts',
    find: '    [MARKER.worker]: ids.workerId,\n',
    replacement: '',
    test: 'test/crash/deleted-rows.test.ts',
    only: 'of a hook and of its worker are deleted',
  },
  {
    name: 'files are published without a rename',
    file: 'src/hooks/work-tree.ts',
    find: '      renameSync(dir, to)\n',
    replacement: '      await copyTree(this.root, dir.slice(this.root.length + 1), to)\n',
    test: 'test/unit/publishing.test.ts',
    only: 'replaces an earlier version as a whole',
  },
  {
    name: 'files are published whoever owns the page',
    file: 'src/hooks/work-tree.ts',
    find: 'if (asides.size > 0) await this.#confirm()',
    replacement: '',
    test: 'test/unit/publishing.test.ts',
    only: 'somebody else’s',
  },
  {
    name: 'a hook is started whoever owns the page',
    file: 'src/hooks/launch.ts',
    find: '    await claimed(id)\n',
    replacement: '    claimed(id).catch(() => {})\n',
    test: 'test/crash/fencing.test.ts',
    only: 'start no hook of a page that was taken away',
  },
  {
    name: '`exited` is written while the hook still runs',
    file: 'src/hooks/launch.ts',
    find: 'await markEnded(db, id, await exited)',
    replacement: 'await markEnded(db, id, { code: 0, signal: null })',
    test: 'test/crash/kill.test.ts',
    only: 'of a hook process',
  },
  {
    name: 'a hook may print as much as it likes',
    file: 'src/hooks/output-limit.ts',
    find: 'const MAX_BYTES = 64 * 1024 * 1024',
    replacement: 'const MAX_BYTES = 2 ** 50',
    test: 'test/crash/hostile-hooks.test.ts',
    only: 'floods stdout with a gigabyte is killed',
  },
  {
    name: 'a hook that does not end in time is only asked to',
    file: 'src/hooks/terminate.ts',
    find:
      '  await exitWithin(running, 2_000, force)\n  await killFamily(running.family)\n  await ' +
      "failpoint('publish.late_hook_killed')",
    replacement: '',
    test: 'test/crash/hostile-hooks.test.ts',
    only: 'ignores SIGTERM is killed at its deadline',
  },
  {
    name: 'what lies in .work after a power cut is published',
    file: 'src/hooks/hosted-ends.ts',
    find: 'hasProc && end.bootId === bootId()',
    replacement: 'hasProc',
    test: 'test/crash/hooks-in-a-row.test.ts',
    only: 'cut off with its machine',
  },
  {
    name: 'a worker keeps what its host answered',
    file: 'src/hooks/hook-host.ts',
    find: "this.#child.once('exit', onGone)",
    replacement: 'void this.#exited.then(onGone)',
    test: 'test/integration/hook-host.test.ts',
    only: 'keeps nothing of it in the worker',
  },
]
