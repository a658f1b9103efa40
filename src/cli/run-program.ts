import { askedBy, parse, rootCommand } from './root.ts'
import { registerRun } from './verbs/run.ts'

/** The program with `run` alone, which others wait for: the runner that it takes over from has stopped its work. */
export async function program(argv: readonly string[]): Promise<void> {
  const root = rootCommand()
  registerRun(root, askedBy(root))
  await parse(root, argv)
}
