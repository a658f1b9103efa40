import { join } from 'node:path'
import { UsageError } from '../../base/errors.ts'
import { Log, toAll, toFile } from '../../base/log.ts'
import { Sessions } from '../../server/access/sessions.ts'
import type { Listen } from '../../server/names.ts'
import { serve } from '../../server/serve.ts'
import { asProcess, openHome, withHome } from '../home.ts'
import { interruptible } from '../interrupts.ts'
import type { Asked } from '../settings.ts'
import { logLevel, terminal, terminalSink } from '../terminal.ts'
import type { ServerVerbOptions } from '../verbs/server.ts'

const CONNECTIONS = 4

/** `server`: show the archive to a browser, until a signal. @param id of its row */
export async function serverVerb(options: Asked, id: string, verb: ServerVerbOptions): Promise<void> {
  const listen = listenOf(verb.listen)
  const open = await openHome(options, 'if-empty', {
    connection: { name: 'archivebox-ts server', connections: CONNECTIONS },
  })
  const { home } = open
  try {
    const log = new Log(
      'server',
      toAll(terminalSink(logLevel(options)), toFile(join(home.dataDir, 'logs', 'server.log'))),
    )
    await asProcess(
      home,
      'server',
      async () =>
        await interruptible(async (stop) => {
          await serve({
            archive: open,
            log,
            listen,
            stop,
            ready: (_web, link) => terminal.say(link),
          })
        }),
      id,
    )
  } finally {
    await open.close()
  }
}

/** `server link`: a new one-time link. */
export async function serverLink(options: Asked): Promise<void> {
  await withHome(options, async (home) => {
    terminal.say(await new Sessions(home).newCode())
  })
}

const LOOPBACK = ['127.0.0.1', 'localhost', '::1']

/** Reads where it is to listen. Throws UsageError when that is nowhere, or beyond this machine. */
function listenOf(text: string): Listen {
  const [, host = '', port = ''] = /^(?:\[?([^\]]*)\]?:)?(\d+)$/.exec(text) ?? []
  const number = Number(port)
  if (port === '' || number > 65_535) throw new UsageError(`--listen ${text}: it takes HOST:PORT, as 127.0.0.1:8000`)
  if (host !== '' && !LOOPBACK.includes(host))
    throw new UsageError(
      `--listen ${text}: others could reach it there, and the server knows no users yet`,
      'listen at 127.0.0.1, and reach it through a tunnel: ssh -N -L 8000:127.0.0.1:8000 HOST',
    )
  return { host: host === '' || host === 'localhost' ? '127.0.0.1' : host, port: number }
}
