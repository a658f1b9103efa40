#!/usr/bin/env node
// A repository with its history, as one bundle: `git clone NAME.bundle` brings it back.
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { list, sizeLimit, text } from '../../base/env-settings.ts'
import { findProgram } from '../../base/find-program.ts'
import { writeJson } from '../../base/whole-file.ts'
import { defineHook, noResults, skipped, succeeded } from '../base/hook.ts'
import { Git } from './git.ts'
import { repositoryAt } from './repository-url.ts'

const DEFAULT_MAX_SIZE = 750 * 1024 * 1024
const DEFAULT_DOMAINS = 'github.com gitlab.com bitbucket.org gist.github.com codeberg.org gitea.com git.sr.ht'.split(
  ' ',
)
const DEFAULT_ARGS = ['clone', '--bare']
/** git's working folder: removed when it is done. */
const STAGE = '.partial'

export default defineHook(import.meta, {
  plugin: 'git',
  async run(context) {
    const { env, outputDir } = context
    const repository = repositoryAt(context.url, list(env, 'GIT_DOMAINS', DEFAULT_DOMAINS))
    if (!repository) return noResults('not the URL of a repository')
    const name = text(env, 'GIT_BINARY') ?? 'git'
    const program = findProgram(name, env['PATH'])
    if (!program) return skipped(`${name} not found: ${process.platform === 'darwin' ? 'brew' : 'apt-get'} install git`)

    const stage = join(outputDir, STAGE)
    rmSync(stage, { recursive: true, force: true })
    mkdirSync(stage, { recursive: true })
    try {
      const git = new Git(program, stage, sizeLimit(env, 'GIT_MAX_SIZE', DEFAULT_MAX_SIZE), context)
      const args = [...list(env, 'GIT_ARGS', DEFAULT_ARGS), ...list(env, 'GIT_ARGS_EXTRA', [])]
      if (!(await git.clone(args, repository)))
        return noResults(`no repository that is open to all at ${repository.url}`)
      const about = await git.about()
      if (about.commits === 0) return noResults('an empty repository')
      const kept = await git.keep(repository.name, about)
      renameSync(join(stage, kept), join(outputDir, kept))
      writeJson(outputDir, 'repository.json', { url: repository.url, file: `git/${kept}`, ...about })
      // It has answered, whatever the page of this URL says to browsers.
      const without = about.has_lfs ? ', without its files in Git LFS' : ''
      return succeeded(`git/${kept}${without}`, { http_status: 200, commits: about.commits })
    } finally {
      rmSync(stage, { recursive: true, force: true })
    }
  },
})
