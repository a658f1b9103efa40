import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import type { PublishedFiles } from '../../src/db/tables.ts'
import { WorkTree } from '../../src/hooks/work-tree.ts'

/** The page's folder and its work tree, of the current test. */
export let root: string
export let tree: WorkTree

/** An open work tree in an empty folder for each test of a file. */
export function useWorkTree(): void {
  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'abx-tree-'))
    await reopen()
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))
}

/** Reopens the work tree as the next worker does; `WorkTree` calls `isOurs`. */
export async function reopen(...isOurs: [isOurs?: () => Promise<void>]): Promise<void> {
  tree = new WorkTree(root, ...isOurs)
  await tree.open()
}

/** Writes a file as a hook of `plugin` would. */
export function made(plugin: string, path: string, text: string): void {
  const file = join(tree.dirFor(plugin), path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** Publishes one plugin. */
export async function publish(plugin: string, of = tree, move = false): Promise<PublishedFiles> {
  const made = (await of.publish([plugin], move)).get(plugin)!
  if (made instanceof Error) throw made
  return made
}

/** The text of a published file. */
export const published = (path: string) => readFileSync(join(root, path), 'utf8')

/** The names in the page's folder, except our own work. */
export const names = () => readdirSync(root).filter((name) => name !== '.work')
