import { workMachine } from './work-machine.ts'

/**
 * One `add`: its URLs become snapshots; it is sealed when the last of them is. It is given up after twice as many
 * attempts as a page: one that takes all above it down with it is given up before its crawl is.
 */
export const crawlMachine = workMachine('crawl', 10)
