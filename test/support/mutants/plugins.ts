import type { Mutant } from './mutant.ts'

/** Mechanisms of src/plugins. */
export const PLUGINS: readonly Mutant[] = [
  {
    name: 'a server that lies about its charset is believed',
    file: 'src/browse/html/charset.ts',
    find: "if (isUtf8(bytes)) return 'UTF-8'",
    replacement: '',
    test: 'test/integration/workers/bad-pages.test.ts',
    only: 'with its characters declared like',
  },
  {
    name: 'a browser that was ended by somebody else is not missed',
    file: 'src/plugins/chrome/on_CrawlSetup__90_chrome_launch.daemon.bg.ts',
    find: "process.kill(process.pid, 'SIGTERM')",
    replacement: 'process.exit(0)',
    test: 'test/integration/plugins/captures.test.ts',
    only: 'is started again when it is frozen or its launcher ended',
  },
]
