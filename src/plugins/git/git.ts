import { flag, type SizeLimit, tooLarge } from '../../base/env-settings.ts'
import { AppError } from '../../base/errors.ts'
import { userAgent } from '../../base/user-agent.ts'
import { AddressFilter } from '../../browse/network/address-filter.ts'
import { proxyEnvironment, withHttpFilter } from '../../browse/network/http-filter.ts'
import type { HookContext } from '../../hooks/contract.ts'
import { type ProgramExit, runProgram } from '../base/run-program.ts'
import type { Repository } from './repository-url.ts'

/** What is known about a repository. */
export interface About {
  /** The current commit; null: its branch is missing. */
  readonly head: string | null
  readonly branch: string | null
  /** The date of that commit: ISO 8601. */
  readonly committed_at: string | null
  readonly commits: number
  readonly branches: number
  readonly tags: number
  /** Its history was left out. */
  readonly is_shallow: boolean
  /** Some of its files lie in Git LFS, which is not asked for them: what is kept has their pointers. */
  readonly has_lfs: boolean
}

/** The folder of the clone below the working folder. */
const CLONE = 'clone'

/**
 * Git's environment for an archive: no settings and no hooks of the user, no questions, no protocol but HTTP, and no
 * files of this machine.
 */
const ENVIRONMENT = {
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'true',
  SSH_ASKPASS: 'true',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ALLOW_PROTOCOL: 'http:https',
  GIT_LFS_SKIP_SMUDGE: '1',
  GIT_OPTIONAL_LOCKS: '0',
}

export class Git {
  readonly #program: string
  readonly #stage: string
  readonly #limit: SizeLimit
  readonly #context: HookContext

  constructor(program: string, stage: string, limit: SizeLimit, context: HookContext) {
    this.#program = program
    this.#stage = stage
    this.#limit = limit
    this.#context = context
  }

  /**
   * @param args `clone` and its options
   * @returns false: there is none, or one that requires a login
   */
  async clone(args: readonly string[], { url, isCertain }: Repository): Promise<boolean> {
    const { env } = this.#context
    const settings = [
      'core.hooksPath=/dev/null',
      'credential.helper=',
      'submodule.recurse=false',
      `http.userAgent=${userAgent(env)}`,
      ...(flag(env, 'CHECK_SSL_VALIDITY', true) ? [] : ['http.sslVerify=false']),
    ].flatMap((setting) => ['-c', setting])
    const exit = await this.#run(
      [...settings, ...args, '--template=', '--no-recurse-submodules', '--no-checkout', '--', url, CLONE],
      url,
    )
    if (exit.code === 0) return true
    const isNone =
      /repository '[^\n]*' not found|could not read (?:Username|Password)|Authentication failed|is this a git repo/
    if (!isCertain && isNone.test(exit.log)) return false
    throw new AppError(reason(exit, url))
  }

  async about(): Promise<About> {
    const head = (await this.#ask('rev-parse', '--verify', '--quiet', 'HEAD')) || null
    const refs = (await this.#ask('for-each-ref', '--format=%(refname)')).split('\n')
    const count = (prefix: string) => refs.filter((ref) => ref.startsWith(prefix)).length
    return {
      head,
      branch: (await this.#ask('symbolic-ref', '--short', '--quiet', 'HEAD')) || null,
      committed_at: head && (await this.#ask('show', '--no-patch', '--format=%cI', 'HEAD')),
      commits: Number(await this.#ask('rev-list', '--count', '--all')),
      branches: count('refs/heads/'),
      tags: count('refs/tags/'),
      is_shallow: (await this.#ask('rev-parse', '--is-shallow-repository')) === 'true',
      has_lfs: head !== null && (await this.#ask('grep', '-l', 'filter=lfs', 'HEAD', '--', '*.gitattributes')) !== '',
    }
  }

  /**
   * Writes the repository to one file of the working folder: a bundle, or, since a bundle without history cannot be
   * cloned, an archive of the files. @returns its name
   */
  async keep(name: string, { head, is_shallow: isShallow }: About): Promise<string> {
    const file = isShallow ? `${name}.tar.gz` : `${name}.bundle`
    const way = isShallow ? ['archive', `--prefix=${name}/`, `--output=../${file}`, 'HEAD'] : undefined
    const all = head === null ? ['--all'] : ['HEAD', '--all']
    const exit = await this.#inClone(way ?? ['bundle', 'create', '--quiet', `../${file}`, ...all])
    if (exit.code !== 0) throw new AppError(reason(exit, name))
    return file
  }

  async #ask(...args: string[]): Promise<string> {
    const { code, log } = await this.#inClone(args)
    return code === 0 ? log.trim() : ''
  }

  #inClone(args: readonly string[]): Promise<ProgramExit> {
    return this.#run(['-C', CLONE, '-c', 'core.hooksPath=/dev/null', ...args])
  }

  /** @param asked the URL that it requests */
  async #run(args: readonly string[], asked?: string): Promise<ProgramExit> {
    const options = { cwd: this.#stage, maxFileBytes: this.#limit.bytes }
    const exit = await withHttpFilter(
      { filter: AddressFilter.from(this.#context.env), env: this.#context.env, url: asked },
      (proxy) => {
        const env = { ...ENVIRONMENT, ...proxyEnvironment(proxy) }
        return runProgram(this.#program, args, { ...options, env }, this.#context)
      },
    )
    this.#context.signal.throwIfAborted()
    if (exit.code !== 0 && exit.log !== '') this.#context.log(exit.log.trim())
    if (/File too large/.test(exit.log)) throw tooLarge(this.#limit)
    return exit
  }
}

/** Why git failed, in one line. */
function reason({ code, signal, log }: ProgramExit, url: string): string {
  const [, said] = /^(?:fatal|error): (.+)$/m.exec(log) ?? []
  const [, status] = /The requested URL returned error: (\d{3})/.exec(log) ?? []
  if (status !== undefined) return `HTTP ${status} (git)`
  if (/not found/.test(said ?? '')) return `no repository at ${url}`
  if (/could not read (?:Username|Password)|Authentication failed/.test(log)) return `${url} asks for a login`
  return said === undefined ? `git ended with ${signal ?? `exit code ${code}`}` : `git: ${said}`
}
