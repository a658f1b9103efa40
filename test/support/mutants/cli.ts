import type { Mutant } from './mutant.ts'

/** Mechanisms of src/cli. */
export const CLI: readonly Mutant[] = [
  {
    name: 'a command whose database goes away fails at once',
    file: 'src/app/open/open-archive.ts',
    find: 'if (connection === COMMAND_CONNECTION) db.patience',
    replacement: 'if (connection !== COMMAND_CONNECTION) db.patience',
    test: 'test/integration/cli/commands-database-killed.test.ts',
    only: 'waits for it, and does what it is told once',
  },
  {
    name: 'status does not know why nothing moves without a runner',
    file: 'src/app/status/reasons.ts',
    find: 'if (!leader) return isWorking.elsewhere ? null : await withoutLeader(home, alive)',
    replacement: 'if (!leader) return null',
    test: 'test/integration/cli/status.test.ts',
    only: 'says without a runner that there is none',
  },
  {
    name: 'status takes a silent runner for one that works',
    file: 'src/app/status/reasons.ts',
    find: 'if (silent <= TRUST_MS / 1_000) return undefined',
    replacement: 'if (silent >= 0) return undefined',
    test: 'test/integration/cli/status-reasons.test.ts',
    only: 'it is silent',
  },
  {
    name: 'status does not see that the disk is full',
    file: 'src/app/status/reasons.ts',
    find: '!isLeaving && leader.blocked_reason !== null',
    replacement: 'isLeaving && leader.blocked_reason !== null',
    test: 'test/crash/db/disk-full.test.ts',
    only: 'left begins no page',
  },
  {
    name: 'a list adds what is archived already',
    file: 'src/app/add/new-urls.ts',
    find: 'if (archived.size === 0) return',
    replacement: 'if (archived.size >= 0) return',
    test: 'test/integration/cli/add-lists.test.ts',
    only: 'keeps titles, tags, notes and dates',
  },
  {
    name: 'a record from a pipe tells a program what to do',
    file: 'src/app/add/page-settings.ts',
    find: 'if (known.needsTrust(name, text))',
    replacement: 'if (known.needsTrust(name, text) && url === undefined)',
    test: 'test/integration/house/untrusted-rows.test.ts',
    only: 'tells a program nothing through',
  },
]
