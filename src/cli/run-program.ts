import { askedBy, parse, rootCommand } from './root.ts'
import { registerRun } from './verbs/run.ts'

/** The program with `run` alone: it starts quickly, since the older runner has stopped its work by then. */
export async function program(argv: readonly string[]): Promise<void> {
  const root = rootCommand()
  registerRun(root, askedBy(root))
  await parse(root, argv)
}
