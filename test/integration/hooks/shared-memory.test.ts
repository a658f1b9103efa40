import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noMounts } from '../../support/containers.ts'
import { noPackage, packagedBrowser } from '../../support/packaged-browser.ts'
import { NODE, ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const lacks = noPackage || (noMounts ? ` (${noMounts})` : '')

/** What is done to /dev/shm where only the browser sees it; $T is a folder. */
const TAKEN_AWAY = {
  full: 'mount -t tmpfs -o size=1m none /dev/shm; cat /dev/zero > /dev/shm/full',
  'not to be written': 'mount -t tmpfs -o ro none /dev/shm',
  'not there': `
    mkdir $T/dev; mount -t tmpfs none $T/dev
    for each in null zero urandom; do touch $T/dev/$each; mount --bind /dev/$each $T/dev/$each; done
    mount --rbind $T/dev /dev`,
}
/** The folder of a run, with all that is unpacked in it and its PATH, may be in shared memory. */
const ELSEWHERE = 'PATH=/usr/bin:/bin; mkdir $T/tmp; mount --bind "$TMPDIR" $T/tmp; export TMPDIR=$T/tmp'

describe.skipIf(lacks)(`a picture is taken where shared memory is${lacks}`, () => {
  let site: Site
  beforeAll(async () => {
    await packagedBrowser() // Unpacked once.
    const draw = `for (let i = 0; i < 9; i++) {
      const canvas = document.body.appendChild(document.createElement('canvas'))
      Object.assign(canvas, { width: 1900, height: 990 })
      const context = canvas.getContext('2d')
      for (let x = 0; x < 1900; x += 10) context.fillRect(x, x % 900, 5 + i, 90)
    }`
    site = await startSite({ '/': `<title>large</title><script>${draw}</script>` })
  })
  afterAll(() => site.close())

  it.each(Object.entries(TAKEN_AWAY))('%s', async (_, script) => {
    const { stdout, stderr } = await ran(script, 'capture-once.ts', `${site.url}/`)
    expect(Number(stdout), stderr).toBeGreaterThan(50_000)
  })
})

it.skipIf(lacks)(`a browser does without shared memory when that has become full${lacks}`, async () => {
  const { stdout, stderr } = await ran('mount -t tmpfs -o size=300m none /dev/shm', 'fill-shared-memory.ts')
  expect(stdout, stderr).toBe(
    'The browser was killed: /dev/shm was almost full. The next one will not use it.\n' + '--disable-dev-shm-usage\n',
  )
})

/** What a program says where this was done to /dev/shm. */
async function ran(script: string, fixture: string, ...args: readonly string[]) {
  const folder = mkdtempSync('/tmp/archivebox-ts-shm-')
  const command = `${ELSEWHERE}; ${script}; exec "$0" "$@"`
  const env = { ...process.env, T: folder, TMPDIR: tmpdir() }
  const program = join(ROOT, 'test', 'fixtures', fixture)
  const child = spawn('unshare', ['-m', 'sh', '-c', command, NODE, program, ...args], { env })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  rmSync(folder, { recursive: true })
  return { stdout, stderr }
}
