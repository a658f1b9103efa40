/** The bytes of a `data:` URL, or a line about what is wrong with it. */
export function dataUrlBytes(url: string): Buffer | string {
  const comma = url.indexOf(',')
  if (comma < 0) return 'not a valid data: URL'
  const data = url.slice(comma + 1)
  try {
    const text = decodeURIComponent(data)
    return /;\s*base64\s*$/i.test(url.slice(0, comma)) ? Buffer.from(text, 'base64') : Buffer.from(text)
  } catch {
    return 'not a valid data: URL'
  }
}
