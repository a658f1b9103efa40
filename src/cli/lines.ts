import type { Readable } from 'node:stream'

/** No URL that can be archived is so long; a file without line ends is no list. */
const LONGEST = 16_384

/**
 * The lines of a text stream, many at a time as they come, trimmed; of one that is too long for a URL its beginning.
 */
export async function* linesOf(stream: Readable): AsyncGenerator<string[]> {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop()!
    if (rest.length > LONGEST) rest = rest.slice(0, LONGEST)
    yield lines.map((line) => line.trim())
  }
  yield [rest.trim()]
}
