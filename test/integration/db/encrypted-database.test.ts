import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { wireSafety } from '../../../src/db/connection-url.ts'
import { withPrograms } from '../../support/bare-path.ts'
import { newFolder, useHomes } from '../../support/homes.ts'
import { sealedCrawl } from '../../support/observer.ts'
import { eventually } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'
import { tlsFront } from '../../support/tls-front.ts'

const homes = useHomes()
const folder = newFolder()
const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
const OPENSSL = withPrograms('openssl')
const made = spawnSync(
  'openssl',
  ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert, ...subject],
  {
    env: { ...process.env, PATH: OPENSSL.path },
  },
)

describe.skipIf(OPENSSL.missing)(`a database that wants TLS ${OPENSSL.missing || ''}`, () => {
  let site: Site
  const fronts: Awaited<ReturnType<typeof tlsFront>>[] = []
  beforeAll(async () => {
    expect(made.status, String(made.stderr)).toBe(0)
    site = await startSite(2)
  })
  afterAll(async () => {
    for (const front of fronts) front.close()
    await site.close()
    rmSync(folder, { recursive: true })
  })

  /** A home, and the environment in which its database is behind TLS. */
  async function encrypted() {
    const home = await homes.make()
    const front = await tlsFront(home.databaseUrl, { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') })
    fronts.push(front)
    return { home, front, through: (parameters: string) => ({ env: { DATABASE_URL: `${front.url}?${parameters}` } }) }
  }

  it('is worked with and listened to under sslmode=require, whoever signed its certificate', async () => {
    const { home, front, through } = await encrypted()
    const runner = home.start(['run'], through('sslmode=require'))
    await runner.says(/leading/)
    const listening = `select count(*) from pg_stat_activity
      where application_name like 'archivebox-ts listen %' and state = 'idle' and datname = current_database()`
    await eventually(async () => (await home.value(listening)) === '1')
    const crawl = await home.add('--plugins', 'html', `${site.url}/page-1.html`)
    await sealedCrawl(home, crawl)
    runner.signal('SIGTERM')
    expect((await runner.finished()).code, runner.stderr).toBe(0)
    expect(runner.stderr).not.toMatch(/warning/i)
    expect(front.encrypted()).toBeGreaterThan(2)
  })

  it('is trusted under sslmode=verify-full when its CA is named, and else refused with what to do', async () => {
    const { home, through } = await encrypted()
    await home.run(['init'])
    const trusted = await home.run(['status'], through(`sslmode=verify-full&sslrootcert=${cert}`))
    expect(trusted.code, trusted.stderr).toBe(3)
    const { code, stderr } = await home.run(['status'], through('sslmode=verify-full'))
    expect(code).toBe(2)
    expect(stderr).toMatch(/the certificate of the database at .* is not trusted: .*\nhint: .*sslrootcert=FILE/)
  })

  it.each([
    ['sslmode=require', 'unverified'],
    [`sslmode=verify-ca&sslrootcert=${cert}`, 'unverified'],
    [`sslmode=verify-full&sslrootcert=${cert}`, 'verified'],
    ['sslmode=disable', 'plain'],
    ['', 'plain'],
  ])('elsewhere is as safe as its URL asks for: %s is %s', (parameters, safety) => {
    expect(wireSafety(`postgres://archive@db.example.org/archive?${parameters}`)).toBe(safety)
    expect(wireSafety(`postgres://archive@localhost/archive?${parameters}`)).toBe('local')
  })
})
