import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withPrograms } from './bare-path.ts'

const OPENSSL = withPrograms('openssl')
/** Why no certificate can be made here, for the name of a skipped test; empty when one can. */
export const noCertificates = OPENSSL.missing || ''

/** Makes a self-signed certificate for loopback, and its key. @param days less than 0: expired */
export function certificate(days = 2): { readonly key: Buffer; readonly cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'archivebox-ts-certificate-'))
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync('openssl', args, { cwd: folder, env: { PATH: OPENSSL.path } })
    if (status !== 0) throw new Error(`openssl: ${stderr}`)
  }
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=127.0.0.1']
  openssl('req', '-new', ...kind, '-keyout', 'key', '-out', 'request')
  openssl('x509', '-req', '-in', 'request', '-signkey', 'key', '-days', String(days), '-out', 'cert')
  const [key, cert] = ['key', 'cert'].map((name) => readFileSync(join(folder, name)))
  rmSync(folder, { recursive: true })
  return { key: key!, cert: cert! }
}
