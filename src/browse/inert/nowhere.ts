/** An address that leads nowhere. */
export const NOWHERE = 'data:,'

/** Where a picture lay that is not in an article: in `data-src`, for those who read its HTML. */
const ELSEWHERE = ` src="${NOWHERE}" data-src="`

/** HTML of an article, with the addresses of its pictures. */
export const withAddresses = (html: string): string => html.replaceAll(ELSEWHERE, ' src="')
