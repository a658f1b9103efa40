// `npm run soak -- --minutes N --seed S`: builds what is missing and runs test/soak on the pinned Node.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pinnedNode, prepare, root } from './prepare.mjs'

prepare()
const program = [join(root, 'test', 'soak', 'main.ts'), ...process.argv.slice(2)]
process.exitCode = spawnSync(pinnedNode, program, { cwd: root, stdio: 'inherit' }).status ?? 1
