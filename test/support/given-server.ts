/** A server that tests use instead of embedded ones of their own, by the URL of one of its databases: `npm run test:postgres`. */
export const GIVEN_SERVER = process.env['TEST_SERVER_URL']

/** The URL of another database on the same server. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}
