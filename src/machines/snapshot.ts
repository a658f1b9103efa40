import { TRIES_AT_HOME } from '../db/nodes.ts'
import { workMachine } from './work-machine.ts'

/** After those at its home: on another node, if there is one. */
const TRIES_AFTER = 2

/** One page of one crawl: its hooks run, their outputs are published, then it is sealed. */
export const snapshotMachine = workMachine('snapshot', TRIES_AT_HOME + TRIES_AFTER)
