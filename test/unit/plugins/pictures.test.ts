import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readPicture } from '../../../src/plugins/exif/read-picture.ts'
import { ROOT } from '../../support/program.ts'

/** A TIFF of little-endian entries. */
function tiff(entries: readonly (readonly [tag: number, type: number, count: number, value: number])[], more: number) {
  const file = Buffer.alloc(14 + entries.length * 12 + more, 1)
  file.write('II*\0', 0, 'latin1')
  file.writeUInt32LE(8, 4)
  file.writeUInt16LE(entries.length, 8)
  for (const [index, [tag, type, count, value]] of entries.entries()) {
    const at = 10 + index * 12
    file.writeUInt16LE(tag, at)
    file.writeUInt16LE(type, at + 2)
    file.writeUInt32LE(count, at + 4)
    file.writeUInt32LE(value, at + 8)
  }
  file.writeUInt32LE(0, 10 + entries.length * 12)
  return file
}

const SHORT = 3

it('a picture whose entries share their bytes tells no more than it holds', async () => {
  const size = 1_000_000
  const entries = Array.from({ length: 2_000 }, (_, index) => [0x9000 + index, SHORT, size / 2 - 50, 8] as const)
  const before = process.memoryUsage().rss
  const begun = performance.now()
  const { tags } = await readPicture(tiff([[0x0100, SHORT, 1, 640], ...entries], size), 'tiff')
  expect(tags).toMatchObject({ ifd0: { ImageWidth: 640 } })
  // Unbounded it takes 25 s and 2.5 GB.
  expect(performance.now() - begun).toBeLessThan(5_000)
  expect(process.memoryUsage().rss - before).toBeLessThan(500_000_000)
})

it('a picture that is whole tells all that it says', async () => {
  const bytes = readFileSync(join(ROOT, 'test', 'fixtures', 'pictures', 'harbour.jpg'))
  expect(await readPicture(bytes, 'jpg')).toMatchObject({
    ...{ width: 96, height: 64, orientation: 6, camera: { make: 'Lighthouse', model: 'Model 7', lens: '35mm f/2' } },
    tags: { ifd0: { Copyright: 'CC0' }, exif: { ISO: 200, FocalLength: 35 }, gps: { GPSLatitude: [53, 32, 30] } },
  })
})
