const BLOCK = 512

/** The files of a tar archive by path, for names that fit into their headers, as npm's do. */
export function filesInTar(tar: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>()
  const text = (from: number, to: number) => tar.toString('latin1', from, to).replace(/\0.*$/s, '')
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const [name, size] = [text(at, at + 100), Number.parseInt(text(at + 124, at + 136), 8)]
    const start = at + BLOCK
    files.set(name, tar.subarray(start, start + size))
    at = start + Math.ceil(size / BLOCK) * BLOCK
  }
  return files
}
