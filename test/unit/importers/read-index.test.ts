import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readIndex } from '../../../src/importers/archivebox/read-index.ts'
import { changeIndex, collection07 } from '../../support/archivebox.ts'
import { newFolder } from '../../support/folders.ts'
import { processesOf } from '../../support/processes.ts'

/** More than fits into a pipe, by far. */
const MANY = 20_000

let folder: string
let index: string
beforeAll(() => {
  folder = newFolder()
  index = join(folder, 'index.sqlite3')
  collection07(folder)
  changeIndex(
    folder,
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${MANY})
      insert into core_snapshot select i, 'https://b.example/' || i, 2000000000 + i, printf('%200d', i), null, null from n`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function expectNone(): Promise<void> {
  for (let tries = 0; tries < 100 && processesOf(folder).length > 0; tries++) await delay(20)
  expect(processesOf(folder)).toEqual([])
}

it('a reader that is stuck is killed; one that waits for us is not', async () => {
  const urls: string[] = []
  const read = async () => {
    for await (const { url, bookmarkedAt, savedAt } of readIndex(index, expect.unreachable, 1_000)) {
      urls.push(url)
      if (urls.length > 1) continue
      expect([bookmarkedAt, savedAt]).toEqual([new Date('2017-07-14T02:40:00Z'), new Date('2020-01-02T03:04:05.678Z')])
      await delay(1_200)
      expect(processesOf(folder)).toHaveLength(1)
      process.kill(processesOf(folder)[0]!.pid, 'SIGSTOP')
    }
  }
  await expect(read()).rejects.toThrow('it took its reader more than 1 s')
  expect(urls.length).toBeLessThan(MANY)
  await expectNone()
})

it('a snapshot that would fill the memory is left out, in words, and no other', async () => {
  const other = newFolder()
  try {
    collection07(other)
    changeIndex(other, `update core_snapshot set title = printf('%.*c', 11000000, 'x') where title = 'A'`)
    const left: string[] = []
    const read = await Array.fromAsync(readIndex(join(other, 'index.sqlite3'), (what) => void left.push(what)))
    expect(read.map(({ title }) => title)).toEqual(['A later', null, 'D'])
    expect(left).toEqual([`snapshot ${'a'.repeat(32)}: it has more than 10 MB of records`])
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
})

it('a reader that nobody reads any more ends', async () => {
  for await (const _ of readIndex(index, expect.unreachable)) break
  await expectNone()
})
