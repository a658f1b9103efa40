/** Where the WACZ of a crawl lies in its folder. */
export const CRAWL_WACZ = 'wacz/crawl.wacz'
