/** What lists are read; `netscape` are bookmarks, `history` is that of a browser. */
export const FORMATS = ['txt', 'html', 'netscape', 'rss', 'opml', 'json', 'csv', 'jsonl', 'history'] as const
export type Format = (typeof FORMATS)[number]
