import { workMachine } from './work-machine.ts'

/**
 * One `add`: its URLs become snapshots, and it is sealed after the last of them. It has twice the attempts of a page,
 * so that a page that takes everything above it down is given up before its crawl.
 */
export const crawlMachine = workMachine('crawl', 10)
