/** The path of a crawl's WACZ in its folder. */
export const CRAWL_WACZ = 'wacz/crawl.wacz'
