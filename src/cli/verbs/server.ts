import type { Command } from 'commander'
import { verb } from '../verb.ts'

/** What `server` is asked for. */
export interface ServerVerbOptions {
  readonly listen: string
  /** False: `--no-runner`. */
  readonly runner: boolean
}

/** What the verbs do; without it they are there for whoever asks for help (`../server-program.ts`). */
export interface ServerVerbs {
  serve(options: ServerVerbOptions): Promise<unknown>
  link(): Promise<unknown>
}

/** `server`, and `server link`. */
export function registerServer(root: Command, verbs?: ServerVerbs): void {
  const server = verb(root, 'server', 'show the archive to a browser, until Ctrl-C', [
    'archivebox-ts server',
    'archivebox-ts server --listen 127.0.0.1:8080 --no-runner',
  ])
    .option('--listen <host:port>', 'where it listens; on this machine only', '127.0.0.1:8000')
    .option('--no-runner', 'start no runner below it')
  const link = verb(server, 'link', 'a new link that lets one browser in, once, within five minutes', [
    'archivebox-ts server link',
  ])
  if (!verbs) return
  server.action(async (options: ServerVerbOptions) => await verbs.serve(options))
  link.action(async () => await verbs.link())
}
