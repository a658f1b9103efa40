/** The built-in plugins that need nothing but npm: named, so that plugins to come do not change what is compared. */
export const NPM_ONLY = [
  '--plugins',
  'headers,staticfile,html,favicon,title,readability,parse_html_urls,hashes',
] as const
