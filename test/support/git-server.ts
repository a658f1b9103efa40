import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A repository served by `git http-backend`, as git servers do it. */
export interface GitServer {
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
  readonly close: () => void
}

const ENVIRONMENT = {
  PATH: process.env['PATH'],
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  ...{ GIT_AUTHOR_NAME: 'Ada', GIT_AUTHOR_EMAIL: 'ada@a.test', GIT_COMMITTER_NAME: 'Ada' },
  ...{ GIT_COMMITTER_EMAIL: 'ada@a.test', GIT_COMMITTER_DATE: '2023-05-01T10:00:00Z' },
}

/**
 * Makes `tool.git`, with two commits and a tag, `no-head.git`, whose current branch is missing, `large.git`, whose
 * pictures lie in Git LFS, and `empty.git`.
 */
export function startGit(): GitServer {
  const root = mkdtempSync(join(tmpdir(), 'git-server-'))
  const work = join(root, 'work')
  mkdirSync(work)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: work, env: ENVIRONMENT, stdio: 'pipe' })
  git('init', '--quiet', '--initial-branch=main')
  for (const name of ['one.txt', 'two.txt']) {
    writeFileSync(join(work, name), `${name}\n`)
    git('add', name)
    git('commit', '--quiet', '-m', name)
  }
  git('tag', 'v1')
  git('clone', '--quiet', '--bare', work, join(root, 'tool.git'))
  git('clone', '--quiet', '--bare', work, join(root, 'no-head.git'))
  git('-C', join(root, 'no-head.git'), 'symbolic-ref', 'HEAD', 'refs/heads/master')
  git('init', '--quiet', '--bare', join(root, 'empty.git'))
  mkdirSync(join(work, 'pictures'))
  writeFileSync(join(work, 'pictures/.gitattributes'), '*.png filter=lfs diff=lfs merge=lfs -text\n')
  git('add', 'pictures')
  git('commit', '--quiet', '-m', 'pictures')
  git('clone', '--quiet', '--bare', work, join(root, 'large.git'))
  return {
    answer: (request, response) => serve(root, request, response),
    close: () => rmSync(root, { recursive: true }),
  }
}

/** The part of CGI that git needs. */
function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://a.test')
  const child = spawn('git', ['http-backend'], {
    env: {
      ...ENVIRONMENT,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.on('error', () => {})
  request.pipe(child.stdin)
  const parts: Buffer[] = []
  child.stdout.on('data', (part: Buffer) => parts.push(part))
  child.on('close', () => {
    const said = Buffer.concat(parts)
    const end = said.indexOf('\r\n\r\n')
    const head = said.toString('latin1', 0, end).split('\r\n')
    const fields = head.map((line) => line.split(': ') as [string, string])
    const status = fields.find(([name]) => name === 'Status')?.[1] ?? '200'
    response.writeHead(Number.parseInt(status, 10), Object.fromEntries(fields.filter(([name]) => name !== 'Status')))
    response.end(said.subarray(end + 4))
  })
}
