import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { pagesOf, resultOf } from '../../support/archive.ts'
import { useHomes } from '../../support/homes.ts'
import { runAll } from '../../support/queued.ts'
import { startSite } from '../../support/site.ts'

const homes = useHomes()

it('asks only for what has changed, unless it is wanted again, and keeps a copy of its own', async () => {
  const asked: (string | undefined)[] = []
  const site = await startSite({
    '/tagged': (request, response) => {
      asked.push(request.headers['if-none-match'])
      const headers = { etag: '"a"', 'content-type': 'text/html' }
      if (request.headers['if-none-match'] === '"a"') response.writeHead(304, headers).end()
      else response.writeHead(200, headers).end('<title>Tagged</title><p>text')
    },
  })
  const home = await homes.make()
  const url = `${site.url}/tagged`
  const add = async (...options: string[]) => {
    const { stdout } = await home.run(['add', '--plugins', 'headers,html,title', ...options, url])
    return (JSON.parse(stdout) as { id: string }).id
  }
  try {
    const first = await add()
    await runAll(home)
    // One after the other.
    const second = await add('--depth', '1')
    await runAll(home)
    const again = await add('--again')
    await runAll(home)
    expect(asked).toEqual([undefined, '"a"', undefined])
    expect((await resultOf(home, again, 'html')).output_str).toBe('html/output.html')

    expect(await resultOf(home, second, 'html')).toMatchObject({
      status: 'succeeded',
      output_str: expect.stringMatching(/^unchanged since 2\d{3}-/) as string,
      output_json: { http_status: 200, unchanged_since: expect.any(String) as string },
    })
    const [page] = await pagesOf(home, second)
    expect(page).toMatchObject({ outcome: 'archived', http_status: 200, title: 'Tagged' })
    const deletion = await home.run(['crawl', 'delete', '--yes', first])
    expect(deletion.code, deletion.stderr).toBe(0)
    expect(readFileSync(join(home.dataDir, page!.output_dir, 'html/output.html'), 'utf8')).toContain('<p>text')
  } finally {
    await site.close()
  }
})
