import type { connect as tlsConnect } from 'node:tls'

/**
 * Replaces Node's `tls` in the bundle, where a driver imports it for encrypted connections: loading it reads all root
 * certificates, 11 ms of CPU, which a process with a unix socket never needs.
 */
export const connect = ((...args: Parameters<typeof tlsConnect>) =>
  process.getBuiltinModule('node:tls').connect(...args)) as typeof tlsConnect
export default { connect }
