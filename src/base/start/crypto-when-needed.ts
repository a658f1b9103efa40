import type { createHash as createHashOfNode } from 'node:crypto'

const crypto = () => process.getBuiltinModule('node:crypto')

/**
 * Replaces Node's `crypto` in the bundle, where a driver imports it for connections with a password: loading it takes a
 * seventh of a start, and a process with a unix socket never needs it.
 */
export const createHash = ((...args: Parameters<typeof createHashOfNode>) =>
  crypto().createHash(...args)) as typeof createHashOfNode

type Subtle = ReturnType<typeof crypto>['webcrypto']['subtle']

export const webcrypto = {
  getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto().webcrypto.getRandomValues(bytes),
  subtle: new Proxy({} as Subtle, {
    get: (_, name: keyof Subtle) => {
      const { subtle } = crypto().webcrypto
      return subtle[name].bind(subtle)
    },
  }),
}
export default { createHash, webcrypto }
