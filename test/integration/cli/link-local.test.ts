import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { noPackage, packagedBrowser } from '../../support/packaged-browser.ts'
import { NODE, ROOT } from '../../support/program.ts'

/** A network of our own, with a link-local address and names that lead there; $T is a folder. */
const OWN_NETWORK = [
  'PATH=$PATH:/usr/sbin:/sbin',
  'ip link set lo up && ip addr add 169.254.7.7/32 dev lo && mount --bind "$T/hosts" /etc/hosts',
].join('\n')
const enter = (script: string) => ['--net', '--mount', 'sh', '-c', script]
const isGranted = spawnSync('unshare', enter(OWN_NETWORK), { env: { ...process.env, T: '/etc' } }).status === 0
const lacks = noPackage || (isGranted ? '' : ' (needs unshare --net, as root, and ip)')

it.skipIf(lacks)(`nothing of a link-local address is had by any way, but where it is opened${lacks}`, async () => {
  await packagedBrowser() // Unpacked once.
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-link-local-'))
  const names = ['127.0.0.1 localhost', '169.254.7.7 rebound.example', '169.254.7.7 metadata.google.internal', '']
  writeFileSync(join(folder, 'hosts'), names.join('\n'))
  const program = join(ROOT, 'test', 'fixtures', 'link-local.ts')
  const env = { ...process.env, T: folder }
  const child = spawn('unshare', [...enter(`${OWN_NETWORK} && exec "$0" "$@"`), NODE, program, folder], { env })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  const said = JSON.parse(stdout || JSON.stringify({ stderr })) as Record<string, { said: string; heard: number }>
  const shown = 'chrome: chrome/navigation.json\ndom: dom/output.html\nwarc: warc/data.warc.gz'
  const literal = 'refused: 169.254.7.7 is a link-local address (ALLOW_PRIVATE_HOSTS opens it)'
  const named = 'refused: rebound.example leads to the link-local address 169.254.7.7 (ALLOW_PRIVATE_HOSTS opens it)'
  const metadata = 'refused: metadata.google.internal is the name of a metadata service (ALLOW_PRIVATE_HOSTS opens it)'
  const inBrowser = (why: string, warc: string) => `chrome: ${why}\ndom: needs chrome, which failed\nwarc: ${warc}`
  const [nothing, half, page] = ['nothing was received', 'the page itself did not come whole', 'warc/data.warc.gz']
  const open = `${shown}\nLEAK in output.html\nLEAK in data.warc.gz`
  // What a name leads to the browser has asked, and nothing of the answer is kept.
  expect(said, stderr).toEqual({
    'HTTP http://169.254.7.7:PORT/': { said: literal, heard: 0 },
    'HTTP http://2851997447:PORT/': { said: literal, heard: 0 },
    'HTTP http://[::ffff:a9fe:707]:PORT/': { said: literal.replace('169.254.7.7', '::ffff:a9fe:707'), heard: 0 },
    'HTTP http://rebound.example:PORT/': { said: named, heard: 0 },
    'HTTP http://metadata.google.internal:PORT/': { said: metadata, heard: 0 },
    'HTTP SITE/to-literal': { said: literal, heard: 0 },
    'HTTP SITE/to-name': { said: named, heard: 0 },
    'HTTP http://169.254.7.7:PORT/ open': { said: 'HTTP 200', heard: 1 },
    'HTTP http://rebound.example:PORT/ open': { said: 'HTTP 200', heard: 1 },
    'browser http://169.254.7.7:PORT/ open': { said: open, heard: 1 },
    'browser http://rebound.example:PORT/ open': { said: open, heard: 1 },
    'browser http://2851997447:PORT/': { said: inBrowser(literal, nothing), heard: 0 },
    'browser http://rebound.example:PORT/': { said: inBrowser(named, nothing), heard: 1 },
    'browser SITE/to-literal': { said: inBrowser(literal, half), heard: 0 },
    'browser SITE/to-name': { said: inBrowser(named, half), heard: 1 },
    'browser /asks-literal': { said: shown, heard: 0 },
    'browser /shows-name': { said: inBrowser(named, page), heard: 1 },
    'browser /works': { said: inBrowser(named, page), heard: 1 },
    'browser /shared': { said: inBrowser(named, page), heard: 1 },
    'browser /service': { said: inBrowser(named, page), heard: 1 },
    'browser /frames': { said: inBrowser(named, page), heard: 1 },
    'isolated /shows-name': { said: inBrowser(named, page), heard: 1 },
    'isolated /frames': { said: inBrowser(named, page), heard: 1 },
  })
})
