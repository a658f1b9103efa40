// `node scripts/image.mjs [STOPS]`: builds the image with buildah and runs it as the first process of a namespace, on
// the network of this machine. A page is archived; then a run is stopped in mid-crawl, STOPS times (default 5): each
// within 10 s, with exit code 0 and the database shut down. IMAGE_BASE names another base image, IMAGE_FLAGS more flags
// of buildah. Without root and buildah it says so and succeeds.
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from './prepare.mjs'

const CONTAINERFILE = 'docs/container/Containerfile'
const TAG = 'archivebox-ts-nightly'
const STOP_MS = 10_000

const buildah = (...args) => {
  const { status, stdout, error } = spawnSync('buildah', args, { cwd: root, stdio: ['ignore', 'pipe', 2] })
  if (error || status !== 0) throw error ?? new Error(`buildah ${args[0]} failed with exit code ${status}`)
  return stdout.toString().trim()
}

/** Starts the image's own command with these words. */
function start(image, data, words) {
  const enter = `
    mount --bind "$1" "$0/data" && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp" &&
    mount --rbind /dev "$0/dev" && image=$0 && shift && exec env -i "$@"`
  const command = ['unshare', '-mpf', '--kill-child', '/bin/sh', '-c', enter, image, data]
  const inside = [...Env, 'chroot', image, ...Entrypoint, ...words]
  const child = spawn(command[0], [...command.slice(1), ...inside], { stdio: ['ignore', 'ignore', 'pipe'] })
  const running = { child, said: '', ended: undefined }
  child.stderr.setEncoding('utf8').on('data', (text) => (running.said += text))
  running.ended = new Promise((resolve) => child.once('exit', resolve))
  return running
}

/** Tells the namespace's first process to stop. @returns its exit code, and how long it took */
async function stop({ child, ended }) {
  const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')
  const begun = performance.now()
  process.kill(Number(first), 'SIGTERM')
  return { code: await ended, ms: Math.round(performance.now() - begun) }
}

const isHere = process.getuid?.() === 0 && spawnSync('buildah', ['--version']).status === 0
if (!isHere) {
  console.log('skipped: needs root and buildah')
  process.exit()
}
const stops = Number(process.argv[2] ?? 5)
const flags = [...(process.env.IMAGE_FLAGS ?? '').split(' ').filter(Boolean)]
if (process.env.IMAGE_BASE) flags.push('--build-arg', `BASE=${process.env.IMAGE_BASE}`)
buildah('build', '--isolation', 'chroot', '--format', 'docker', ...flags, '-f', CONTAINERFILE, '-t', TAG, '.')
const data = mkdtempSync(join(tmpdir(), 'archivebox-ts-image-'))
chownSync(data, 1000, 1000)
const { Entrypoint, Env } = JSON.parse(buildah('inspect', '--type', 'image', TAG)).OCIv1.config
const container = buildah('from', TAG)
const site = createServer((request, response) => {
  const page = Number(/\d+/.exec(request.url)?.[0] ?? 0)
  const links = Array.from({ length: 9 }, (_, index) => `<p>words <a href="/${page * 9 + index + 1}">on</a>`)
  response.writeHead(200, { 'content-type': 'text/html' }).end(`<title>page ${page}</title>${links.join('')}`)
}).listen(0, '127.0.0.1')
const failed = []
try {
  const image = buildah('mount', container)
  await new Promise((resolve) => site.once('listening', resolve))
  const url = `http://127.0.0.1:${site.address().port}/0`
  const first = start(image, data, ['add', '--run', url])
  if ((await first.ended) !== 0 || !/screenshot/.test(first.said)) failed.push(`the first page: ${first.said}`)
  await start(image, data, ['add', '--again', '--depth', '3', url]).ended
  for (let count = 1; count <= stops && failed.length === 0; count += 1) {
    const run = start(image, data, ['run', '--stay', '--daemon'])
    while (!/leading/.test(run.said) && run.child.exitCode === null) await delay(50)
    await delay(2_000 + Math.random() * 4_000)
    const { code, ms } = await stop(run)
    const isShutDown = readFileSync(join(data, 'logs', 'postgres.log'), 'utf8')
      .trimEnd()
      .endsWith('is shut down')
    console.log(`stop ${count}: exit code ${code} after ${ms} ms`)
    if (code !== 0 || ms > STOP_MS || !isShutDown) failed.push(`stop ${count}: ${run.said}`)
  }
} finally {
  site.close()
  site.closeAllConnections()
  buildah('rm', container)
  rmSync(data, { recursive: true })
}
for (const what of failed) console.error(what)
process.exitCode = failed.length === 0 ? 0 : 1
