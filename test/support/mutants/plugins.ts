import type { Mutant } from './mutant.ts'

/** Mechanisms of src/plugins. */
export const PLUGINS: readonly Mutant[] = [
  {
    name: 'a server that lies about its charset is believed',
    file: 'src/plugins/base/charset.ts',
    find: "if (isUtf8(bytes)) return 'UTF-8'",
    replacement: '',
    test: 'test/integration/bad-pages.test.ts',
    only: 'with its characters declared like',
  },
]
