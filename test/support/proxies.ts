import { DatabaseProxy } from './database-proxy.ts'
import { perTest } from './per-test.ts'

/** Opens proxies in front of databases for the tests of a file; each is closed with its test. */
export function useProxies(): (of: { readonly databaseUrl: string }) => Promise<DatabaseProxy> {
  const opened = perTest<DatabaseProxy[]>(
    () => [],
    async (proxies) => {
      for (const proxy of proxies) await proxy.close()
    },
  )
  return async ({ databaseUrl }) => {
    const proxy = await DatabaseProxy.before(databaseUrl)
    opened().push(proxy)
    return proxy
  }
}
