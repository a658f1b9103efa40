import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { expectComplete } from '../../support/archive.ts'
import { DatabaseProxy } from '../../support/database-proxy.ts'
import { useHomes } from '../../support/homes.ts'
import { expectNoPause, openRows } from '../../support/observer.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

const homes = useHomes()
let site: Site
let proxy: DatabaseProxy | undefined

beforeAll(async () => {
  site = await startSite(pages(1))
})
afterAll(() => site.close())
afterEach(() => proxy?.close())

it.each([
  ['page', /moved as \(\s+update "snapshot"/],
  ['crawl', /moved as \(\s+update "crawl"/],
] as const)(
  'the end of a %s is written once, though nobody keeps a log and its answer is lost',
  async (_what, pattern) => {
    const home = await homes.make()
    await home.query(`
    create function forget() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger forget before insert on transition for each row execute function forget()`)
    proxy = await DatabaseProxy.before(home.databaseUrl)
    const crawl = await home.add('--depth', '1', '--plugins', 'html,parse_html_urls', `${site.url}/`)
    const cut = proxy.cutInsteadOfReplyTo(pattern)
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], {
      env: { DATABASE_URL: proxy.url },
    })
    expect(code, stderr).toBe(0)
    await cut
    expect(stderr).not.toMatch(/claim lost|died|does not renew/)
    expect(await expectComplete(home, crawl)).toHaveLength(2)
    expect(await openRows(home)).toEqual([])
    await expectNoPause(home)
  },
)
