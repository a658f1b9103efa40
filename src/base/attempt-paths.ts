/** Names one attempt of a hook among all of its snapshot. */
export function attemptName(plugin: string, hook: string, attempt: number): string {
  return `${plugin}.${hook}.${attempt}`
}

/**
 * Where one attempt of a hook leaves what is not its output, below the folder of its snapshot: its logs, and the files
 * of a failed attempt.
 */
export function attemptPaths(
  plugin: string,
  hook: string,
  attempt: number,
): { stdout: string; stderr: string; leftovers: string } {
  const log = `.logs/${plugin}/${hook}.${attempt}`
  return {
    stdout: `${log}.stdout.log`,
    stderr: `${log}.stderr.log`,
    leftovers: `.attempts/${attemptName(plugin, hook, attempt)}`,
  }
}
