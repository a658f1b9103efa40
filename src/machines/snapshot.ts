import { workMachine } from './work-machine.ts'

/** One page of one crawl: its hooks run, their outputs are published, then it is sealed. */
export const snapshotMachine = workMachine('snapshot', 5)
