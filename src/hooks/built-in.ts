import type { HookModule } from './contract.ts'

/** The built-in hooks by their paths in dist; the build fills this in, and from the sources it is empty. */
export const BUILT_IN: Readonly<Record<string, () => Promise<{ readonly default: HookModule }>>> = {}
