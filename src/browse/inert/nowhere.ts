/** An address that leads nowhere. */
export const NOWHERE = 'data:,'

/** Notes the address of a picture that is not in an article in `data-src`, for readers of its HTML. */
const ELSEWHERE = ` src="${NOWHERE}" data-src="`

/** The HTML of an article, with the addresses of its pictures. */
export const withAddresses = (html: string): string => html.replaceAll(ELSEWHERE, ' src="')
