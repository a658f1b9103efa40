import type { connect as tlsConnect } from 'node:tls'

/**
 * Stands in for Node's `tls` in the bundle, where a driver imports it for connections that are encrypted: loading it
 * reads all root certificates, 11 ms of a processor, which a process with a unix socket never needs.
 */
export const connect = ((...args: Parameters<typeof tlsConnect>) =>
  process.getBuiltinModule('node:tls').connect(...args)) as typeof tlsConnect
export default { connect }
