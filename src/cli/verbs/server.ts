import type { Command } from 'commander'
import { verb } from '../verb.ts'

/** The options of `server`. */
export interface ServerVerbOptions {
  readonly listen: string
  /** False: `--no-runner`. */
  readonly runner: boolean
}

/** The code of the verbs; without it they are registered for help only (`../server-program.ts`). */
export interface ServerVerbs {
  serve(options: ServerVerbOptions): Promise<unknown>
  link(): Promise<unknown>
}

/** `server`, and `server link`. */
export function registerServer(root: Command, verbs?: ServerVerbs): void {
  const server = verb(root, 'server', 'serve the archive to a browser, until Ctrl-C', [
    'archivebox-ts server',
    'archivebox-ts server --listen 127.0.0.1:8080 --no-runner',
  ])
    .option('--listen <host:port>', 'the address to listen on; of this machine only', '127.0.0.1:8000')
    .option('--no-runner', 'do not start a runner')
  const link = verb(server, 'link', 'print a new link that signs in one browser, once, within five minutes', [
    'archivebox-ts server link',
  ])
  if (!verbs) return
  server.action(async (options: ServerVerbOptions) => await verbs.serve(options))
  link.action(async () => await verbs.link())
}
