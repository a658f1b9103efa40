import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'

/** Starts a listener in front of another one, which passes requests on, and notes them. */
export async function forwarder(
  port: number,
  heard: (text: string) => void,
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer((socket) => {
    const behind = connect(port, '127.0.0.1')
    socket.on('data', (text) => heard(String(text)))
    socket.pipe(behind).pipe(socket)
    for (const end of [socket, behind])
      end.on('error', () => {}).on('close', () => (end === socket ? behind : socket).destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}
