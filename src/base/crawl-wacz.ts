/** Where the WACZ of a crawl lies in its folder. */
export const CRAWL_WACZ = 'wacz/crawl.wacz'

/** What it is made of: the WARC of each page, in the folder of that. */
export const PAGE_WARC = 'warc/data.warc.gz'
