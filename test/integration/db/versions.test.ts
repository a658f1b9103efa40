// Two nodes of one database are upgraded one after the other.
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectComplete } from '../../support/archive.ts'
import type { TestHome } from '../../support/homes.ts'
import { newerProgram, TOMORROW } from '../../support/newer-program.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { hook } from '../../support/plugins.ts'
import { eventually } from '../../support/program.ts'
import { useSharedServer } from '../../support/shared-database.ts'
import { type Site, startSite } from '../../support/site.ts'

const server = useSharedServer()
let site: Site

beforeAll(async () => {
  site = await startSite(2)
})
afterAll(() => site.close())

const schemaOf = (home: TestHome) => home.value<number>('select max(version) from schema_migration')

describe('a newer program', () => {
  it('with an additive migration applies it at once: the leader of another node goes on, and says so once', async () => {
    const [one, two] = await server.twoNodes()
    const newer = newerProgram('additive', 'alter table snapshot add column mood text; create table weather (day date)')
    const older = one.start(['run'])
    await older.says(/leading/)
    const first = two.start(['run'], newer)
    await first.says(/leading/)
    expect(await schemaOf(one)).toBe(TOMORROW)
    expect(first.stderr).toMatch(/database schema: applied tomorrow/)
    first.signal('SIGTERM')
    expect((await first.finished()).code).toBe(0)

    const crawl = await one.add('--plugins', 'html,title', `${site.url}/page-1.html`)
    await sealedCrawl(one, crawl)
    await expectComplete(one, crawl)
    await older.says(new RegExp(`a newer archivebox-ts has changed the database: its schema is ${TOMORROW}`))
    // One that is started anew may lead, too; but its backups would lack what it does not know.
    const again = one.start(['run'])
    await again.says(/leading/)
    expect((await older.finished()).code).toBe(0)
    expect(older.stderr.match(/has changed the database/g)).toHaveLength(1)
    const backup = await one.run(['backup', join(one.dataDir, 'rows.zst')])
    expect(backup.code).toBe(1)
    expect(backup.stderr).toMatch(/a newer archivebox-ts has changed the database/)
    again.signal('SIGTERM')
    expect((await again.finished()).code).toBe(0)
  })

  it('with a breaking one asks the leader of another node, by name, and waits until it has drained', async () => {
    const [one, two] = await server.twoNodes()
    const newer = newerProgram('breaking', 'alter table snapshot add column mood text')
    const hold = join(one.dataDir, 'hold')
    hook(one, 'waits', '41_waits.sh', `while [[ -e ${hold} ]]; do sleep 0.05; done; echo waited >waited.txt`)
    writeFileSync(hold, '')
    const older = one.start(['run'])
    await older.says(/leading/)
    const crawl = await one.add('--plugins', 'html,waits', `${site.url}/page-1.html`)
    await eventually(() => one.value("select count(*) = 1 from archive_result where status = 'succeeded'"))
    const name = await one.value<string>('select name from node where data_dir = $1', [one.dataDir])

    const looking = two.start(['status'], newer)
    await looking.says(/a runner of an older archivebox-ts leads .*: waiting for it to end/)
    looking.signal('SIGKILL')
    await looking.finished()
    const first = two.start(['run'], newer)
    await first.says(/older archivebox-ts leads .*: asked to hand over, waiting for it to end/)
    expect(first.stderr).toContain(`node ${name})`)
    await older.says(/a newer archivebox-ts waits to change the database: draining/)
    expect(await schemaOf(one)).toBe(TOMORROW - 1)
    // Meanwhile no other one of the older program begins.
    const refused = await one.run(['run'])
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/a newer archivebox-ts waits to change the database/)
    rmSync(hold)
    expect((await older.finished()).code).toBe(0)
    await first.says(/leading/)
    expect(await schemaOf(one)).toBe(TOMORROW)
    const late = await one.run(['run'])
    expect(late.code).toBe(1)
    expect(late.stderr).toMatch(new RegExp(`schema version ${TOMORROW}, this program knows ${TOMORROW - 1}`))
    const upgraded = one.start(['run'], newer)
    await sealedCrawl(one, crawl)
    await expectComplete(one, crawl)
    for (const runner of [first, upgraded]) {
      runner.signal('SIGTERM')
      expect((await runner.finished()).code).toBe(0)
    }
  })
})
