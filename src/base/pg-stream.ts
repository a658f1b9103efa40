import { Socket } from 'node:net'
import { connect } from './start/tls-when-needed.ts'

/**
 * Replaces the `stream.js` of pg in the bundle: that one first checks whether it runs at Cloudflare, for which Node
 * loads its `navigator`, 0.3 ms of each start.
 */
export const getStream = (): Socket => new Socket()
export const getSecureStream = connect
