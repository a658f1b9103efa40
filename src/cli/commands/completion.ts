import { readFileSync } from 'node:fs'
import { asset } from '../../base/package-root.ts'

/** `completion SHELL`: prints the script that this shell is to load. */
export function completion(shell: string): void {
  const file = `completion/archivebox-ts.${shell}`
  process.stdout.write(readFileSync(asset(file, `cli/${file}`), 'utf8'))
}
