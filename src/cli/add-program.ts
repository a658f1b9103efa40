import { askedBy, parse, rootCommand } from './root.ts'
import { registerAdd } from './verbs/add.ts'

/**
 * The program with `add` alone, which is started more often than all others together, by scripts and bookmarklets: half
 * as much to load.
 */
export async function program(argv: readonly string[]): Promise<void> {
  const root = rootCommand()
  const asked = askedBy(root)
  registerAdd(root, () => asked(true))
  await parse(root, argv)
}
