/** One mechanism switched off, and the test that must then fail. */
export interface Mutant {
  readonly name: string
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replacement: string
  readonly test: string
  /** Part of the test's name. */
  readonly only: string
}

/** Each promise's mechanism, turned off: a suite that stays green without it proves nothing about it. `npm run mutants` tries them all. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'claims are not fenced by the term',
    file: 'src/machines/queues.ts',
    find: 'where data_dir_id = $${first} and term = $${first + 1}`,',
    replacement: 'where data_dir_id = $${first} and $${first + 1}::bigint > 0`,',
    test: 'test/crash/fencing.test.ts',
    only: 'fences claims',
  },
  {
    name: 'nothing is swept before a promotion',
    file: 'src/runner/gate.ts',
    find: 'if (!(await sweep(home, log, this.#me))) return undefined',
    replacement: 'void sweep',
    test: 'test/crash/watchdog.test.ts',
    only: 'killed together with its leader',
  },
  {
    name: 'older runners are not waited for',
    file: 'src/runner/end-older.ts',
    find: 'if (left.length === 0) return true',
    replacement: 'return true',
    test: 'test/crash/takeover.test.ts',
    only: 'does not hand over within the grace',
  },
  {
    name: 'the kernel’s lock on the data dir counts for nothing',
    file: 'src/runner/data-dir-lock.ts',
    find: 'if (!(await Promise.race([taken, sleep(IN_LINE_MS)]))) return false',
    replacement: 'await Promise.race([taken, sleep(IN_LINE_MS)])',
    test: 'test/crash/gate.test.ts',
    only: 'silent but holds the data dir',
  },
  {
    name: 'a heartbeat never says that the lead is lost',
    file: 'src/runner/heartbeat.ts',
    find: "      if (!answer) return this.#lose('its row is closed, or another term began')\n",
    replacement: '      if (!answer) return\n',
    test: 'test/crash/fencing.test.ts',
    only: 'raised by somebody else',
  },
  {
    name: 'the claims of the dead stay claimed',
    file: 'src/runner/promote.ts',
    find: 'claimants.length > 0 ? await requeueClaimsOf(tx, claimants) : 0',
    replacement: '0',
    test: 'test/crash/gate.test.ts',
    only: 'of an earlier boot',
  },
  {
    name: 'hooks carry no mark of their runner',
    file: 'src/hooks/environment.ts',
    find: '    [MARKER.runner]: ids.runnerId,\n',
    replacement: '',
    test: 'test/crash/watchdog.test.ts',
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
    name: 'the watchdog ends nobody',
    file: 'src/runner/watchdog-process.ts',
    find: 'const survivors = await killFamily(family)',
    replacement: 'const survivors: number[] = []',
    test: 'test/crash/watchdog.test.ts',
    only: 'by that leader’s mark alone',
  },
  {
    name: 'files are published without a rename',
    file: 'src/hooks/work-tree.ts',
    find: '    renameSync(aside, to)\n',
    replacement: '    await copyTree(this.root, aside.slice(this.root.length + 1), to)\n',
    test: 'test/unit/work-tree.test.ts',
    only: 'replaces an earlier version as a whole',
  },
  {
    name: 'files are published whoever owns the page',
    file: 'src/hooks/work-tree.ts',
    find: 'if (copied.files.size > 0) await this.#confirm()',
    replacement: '',
    test: 'test/unit/work-tree.test.ts',
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
    name: 'a lease is renewed in words only',
    file: 'src/workers/lease.ts',
    find: 'await queue.renew([claim])',
    replacement: 'new Set([claim.id])',
    test: 'test/integration/crawl-commands.test.ts',
    only: 'pause',
  },
  {
    name: 'the gate’s index is not unique',
    file: 'src/db/migrations/0005_gate.sql',
    find: 'create unique index single_active_runner_per_data_dir',
    replacement: 'create index single_active_runner_per_data_dir',
    test: 'test/crash/fencing.test.ts',
    only: 'never raised twice',
  },
  {
    name: 'a process is its pid',
    file: 'src/processes/identity.ts',
    find: 'now && now.startTicks === identity.startTicks',
    replacement: 'now',
    test: 'test/crash/machine-trouble.test.ts',
    only: 'to an innocent process',
  },
  {
    name: '`exited` is written while the hook still runs',
    file: 'src/hooks/launch.ts',
    find: 'await markEnded(scope.home.db, id, await exited)',
    replacement: 'await markEnded(scope.home.db, id, { code: 0, signal: null })',
    test: 'test/crash/kill.test.ts',
    only: 'of a hook process',
  },
  {
    name: 'the order of signals is forgotten: nobody continues what stands still',
    file: 'src/runner/end-older.ts',
    find: "await signalIdentity(identityIn(row)!, 'SIGCONT')",
    replacement: 'await Promise.resolve()',
    test: 'test/crash/takeover.test.ts',
    only: 'ends a stopped leader',
  },
  {
    name: 'a crawl is sealed while something of its list is left',
    file: 'src/db/snapshots.ts',
    find: 'there or listed as open',
    replacement: 'there as open',
    test: 'test/crash/long-list.test.ts',
    only: 'is archived from its first page on',
  },
  {
    name: 'the count of the pages of a crawl is not kept',
    file: 'src/db/snapshots.ts',
    find: 'if (added > 0) await sql`update crawl',
    replacement: 'if (added < 0) await sql`update crawl',
    test: 'test/crash/long-list.test.ts',
    only: 'ends where --max-urls does',
  },
]
