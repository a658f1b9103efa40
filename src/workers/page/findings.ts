import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type HookRecords, readUrlsFile, type SnapshotRecord } from '../../hooks/records.ts'

/** What the hooks of a page found, including those of earlier rounds. */
export class Findings {
  readonly pages: SnapshotRecord[] = []
  readonly tags: string[] = []

  add({ snapshots, tags }: Pick<HookRecords, 'snapshots' | 'tags'>): void {
    this.pages.push(...snapshots)
    this.tags.push(...tags)
  }

  /** Reads the urls.jsonl of a plugin, if it has one. */
  async readUrls(folder: string): Promise<void> {
    const file = join(folder, 'urls.jsonl')
    if (existsSync(file)) this.pages.push(...(await readUrlsFile(file)))
  }
}
