import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withPrograms } from '../../support/bare-path.ts'
import { CONTAINER, noContainers } from '../../support/containers.ts'
import { newFolder } from '../../support/folders.ts'
import { NODE, ROOT } from '../../support/program.ts'

const FILES = join(ROOT, 'docs', 'container')
const TINI = withPrograms('tini')
const SYSTEM = withPrograms('setpriv', 'stat', 'id', 'awk', 'grep', 'cut', 'ls', 'chown', 'chmod', 'install', 'mount')

/** Leaves this many processes to whoever is the first one. */
const ORPHANS = 10_000
const LEAVE = `i=0; while [ $i -lt ${ORPHANS} ]; do ( : & ); i=$((i+1)); done`
const COUNT = 'cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") Z "'

describe.skipIf(noContainers || TINI.missing)(`the first process (${noContainers || TINI.missing || 'tini'})`, () => {
  /** What a script prints below a first process. */
  const below = (first: readonly string[], script: string) => {
    const [command, ...words] = [...CONTAINER, ...first, '/bin/sh', '-c', script]
    const env = { PATH: [TINI.path, process.env['PATH']].join(delimiter) }
    return spawnSync(command!, words, { env, encoding: 'utf8' }).stdout.trim()
  }

  it('of the image reaps what it adopts', () => {
    expect(readFileSync(join(FILES, 'Containerfile'), 'utf8')).toContain('ENTRYPOINT ["tini", "-s", "--"')
    const untilNone = `${LEAVE}; for try in $(seq 600); do test $(${COUNT}) = 0 && echo none && exit; sleep 0.1; done`
    expect(below(['tini', '-s', '--'], untilNone)).toBe('none')
  })

  it('has to: Node would not', () => {
    const asNode = `require('child_process').spawnSync(process.argv[1], process.argv.slice(2), { stdio: 'inherit' })`
    expect(Number(below([NODE, '-e', asNode, '--'], `${LEAVE}; ${COUNT}`))).toBeGreaterThan(ORPHANS / 2)
  })
})

describe.skipIf(noContainers || SYSTEM.missing)(`the account (${noContainers || SYSTEM.missing || 'as-owner'})`, () => {
  let folder = ''
  let data = ''
  beforeEach(() => {
    folder = newFolder()
    data = join(folder, 'data')
    mkdirSync(data)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  /** Runs as-owner as root of a container with an /etc/passwd of its own. */
  function asOwner(...words: string[]) {
    const passwd = join(folder, 'passwd')
    writeFileSync(passwd, 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n')
    const own = `mount --bind '${passwd}' /etc/passwd && mount -t tmpfs none /home && exec "$0" "$@"`
    const [command, ...rest] = [...CONTAINER, '/bin/sh', '-c', own, join(FILES, 'as-owner'), ...words]
    return spawnSync(command!, rest, { env: { PATH: SYSTEM.path, DATA_DIR: data }, encoding: 'utf8' })
  }
  const WHO = ['/bin/sh', '-c', 'echo $(id -u):$(id -g) $HOME']

  it('is the owner of the data dir, who gets a name where there is none', () => {
    chownSync(data, 1234, 4321)
    expect(asOwner(...WHO).stdout).toBe('1234:4321 /home/archiver\n')
    expect(readFileSync(join(folder, 'passwd'), 'utf8')).toContain('archiver:x:1234:4321:')
    chownSync(data, 1000, 1000)
    expect(asOwner(...WHO).stdout).toBe('1000:1000 /home/node\n')
  })

  it('gets an empty data dir that is root’s, as a new volume is; one with something in it stays as it is', () => {
    mkdirSync(join(data, 'lost+found'))
    expect(asOwner(...WHO).stdout).toBe('1000:1000 /home/node\n')
    expect(statSync(data).uid).toBe(1000)
    chownSync(data, 0, 0)
    writeFileSync(join(data, 'archivebox.toml'), '')
    const refused = asOwner(...WHO)
    expect(refused).toMatchObject({ status: 2, stdout: '' })
    expect(refused.stderr).toMatch(/^error: .* belongs to root.*\nhint: .*chown -R/)
    expect(statSync(join(data, 'archivebox.toml')).uid).toBe(0)
  })
})

it('the files of the image are complete: what the build copies is there', () => {
  const copied = readFileSync(join(FILES, 'Containerfile'), 'utf8').matchAll(/^COPY (?!--from)(?:--\S+ )*(.*) \S+$/gm)
  const paths = [...copied].flatMap(([, words = '']) => words.split(' '))
  expect(paths).toContain('docs/container/healthy')
  for (const path of paths) expect(() => statSync(join(ROOT, path)), path).not.toThrow()
  for (const name of ['as-owner', 'healthy']) execFileSync('/bin/sh', ['-n', join(FILES, name)])
})
