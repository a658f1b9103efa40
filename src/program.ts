/** The whole program, which main.ts loads: a verb of the command line, or a worker of a runner. */
export async function start(argv: readonly string[]): Promise<void> {
  const [verb, kind] = argv.slice(2)
  if (verb === 'worker') await (await import('./workers/entry.ts')).worker(kind)
  else await (await import('./cli/program.ts')).program(argv)
}
