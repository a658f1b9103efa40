import type { Texts } from '../../base/config.ts'
import { list } from '../../base/env-settings.ts'
import { AddressFilter } from '../network/address-filter.ts'
import { socksArguments, startSocksFilter } from '../network/socks-filter.ts'
import { hostRules } from './host-rules.ts'

/** How a browser connects. */
export interface BrowserNetwork {
  readonly args: readonly string[]
  /** Closes the proxy that it connects through. */
  readonly close: () => void
}

/** How a browser connects to the hosts that these settings allow, and to nothing else. */
export async function browserNetwork(settings: Texts): Promise<BrowserNetwork> {
  const filter = AddressFilter.from(settings)
  if (!filter.isWide) return { args: hostRules(filter, list(settings, 'CHROME_ARGS_EXTRA', [])), close: () => {} }
  const { server, port } = await startSocksFilter(filter, settings)
  return { args: socksArguments(port), close: () => void server.close() }
}
