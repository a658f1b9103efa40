// Writes docs/CHANGELOG.md: what each schema version changed, in the words of the migrations themselves.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../src/db/migrate.ts'
import { type MigrationNotes, notesOf } from '../src/db/migration-plan.ts'

const HEAD = `# Changes, by schema version

A program brings an older data dir up to date when it first opens it; \`npx archivebox-ts db migrate --dry-run\` says
what is missing, how long that takes and how much room. [Upgrade](upgrade.md) has the rest. Captures are never changed.
"Rewrites" names the tables of which about every row is written: before such a change the rows are written to
\`backups/before-upgrade.zst\` in the data dir. Numbers that are missing were never in a program by themselves.

| version | changes | rewrites |
|---:|---|---|
`

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')

/** The document, from the heads of the migrations. */
export function changelog(): string {
  const row = (version: number, { changes, rewrites }: MigrationNotes) =>
    `| ${version} | ${changes.replace(/^[a-z]/, (letter) => letter.toUpperCase())} | ${code(rewrites)} |\n`
  const rows = migrations().map((migration) => row(migration.version, notesOf(migration)))
  return HEAD + rows.toReversed().join('')
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, '..', 'docs', 'CHANGELOG.md'), changelog())
