import { askedBy, parse, rootCommand } from './root.ts'
import { registerAdd } from './verbs/add.ts'

/** The program with `add` alone, which scripts call in a loop and people wait for: it loads half as much. */
export async function program(argv: readonly string[]): Promise<void> {
  const root = rootCommand()
  registerAdd(root, askedBy(root))
  await parse(root, argv)
}
