// The entry of a warm host: does as little as possible before its code is loaded, which is kept as V8 has compiled it.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { loadCompiled } from '../base/start/compiled.ts'
import { showSourceLines } from '../base/start/source-lines.ts'
import { BUILT, VERSION } from '../base/version.ts'
import type * as Host from './host.ts'

showSourceLines()

/** By name, so that the build does not bundle it in here, too. */
const file = join(import.meta.dirname, BUILT ? 'host.js' : 'host.ts')
const loaded = Promise.withResolvers<void>()
const ran = Promise.withResolvers<void>()
const start = { loaded: loaded.promise, ran: ran.promise }
const { serve } = (BUILT ? loadCompiled(file, 'hook-host', VERSION, start) : createRequire(file)(file)) as typeof Host
serve(loaded.resolve, ran.resolve)
