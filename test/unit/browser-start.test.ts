import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { launchBrowser } from '../../src/plugins/base/browser/launch.ts'
import { newFolder } from '../support/folders.ts'
import { processesOf } from '../support/processes.ts'
import { eventually } from '../support/program.ts'

it('a browser to which nobody can speak does not stay', async () => {
  const folder = newFolder()
  const program = join(folder, 'browser')
  writeFileSync(program, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 })
  const missing = join(folder, 'missing')
  await expect(launchBrowser({ program, env: {} }, folder, missing, { CHROME_SANDBOX: 'false' })).rejects.toThrow()
  await eventually(() => processesOf(folder).length === 0)
  rmSync(folder, { recursive: true })
})
