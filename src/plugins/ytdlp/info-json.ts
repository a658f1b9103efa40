import { readFileSync, writeFileSync } from 'node:fs'

/** Data that yt-dlp writes for downloading the formats with it. */
const SECRETS = new Set(['cookies', 'http_headers'])

/** Removes cookies and request headers from yt-dlp's metadata: they may be those of somebody's login. */
export function withoutSecrets(file: string): void {
  const kept: unknown = JSON.parse(readFileSync(file, 'utf8'), (key, value: unknown) =>
    SECRETS.has(key) ? undefined : value,
  )
  writeFileSync(file, `${JSON.stringify(kept, null, 1)}\n`)
}
