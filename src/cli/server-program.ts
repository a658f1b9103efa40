import { uuidv7 } from '../base/ids.ts'
import { serverLink, serverVerb } from './commands/server.ts'
import { askedBy, parse, rootCommand } from './root.ts'
import { registerServer } from './verbs/server.ts'

/** The program with `server` alone, so that no other verb loads its modules. */
export async function program(argv: readonly string[]): Promise<void> {
  const root = rootCommand()
  const asked = askedBy(root)
  const checked = async (makes: boolean) => {
    const given = await asked(makes)
    given.problems.refuse()
    return given
  }
  registerServer(root, {
    // Read anew, as a command that is started now reads them.
    serve: async (options) =>
      await serverVerb(await checked(true), uuidv7(), options, async () => await asked(false, () => {})),
    link: async () => await serverLink(await checked(false)),
  })
  await parse(root, argv)
}
