import { askedBy, parse, rootCommand } from './root.ts'
import { registerRun } from './verbs/run.ts'

/** The program with `run` alone, which others wait for: the runner that it takes over from has stopped its work. */
export async function program(argv: readonly string[]): Promise<void> {
  const root = rootCommand()
  const asked = askedBy(root)
  registerRun(root, async () => {
    const options = await asked(true)
    options.problems.refuse()
    return options
  })
  await parse(root, argv)
}
