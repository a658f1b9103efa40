import type { HookModule } from './contract.ts'

/** The built-in hooks by their paths in dist, in whose place the build puts them: from the sources there are none. */
export const BUILT_IN: Readonly<Record<string, () => Promise<{ readonly default: HookModule }>>> = {}
