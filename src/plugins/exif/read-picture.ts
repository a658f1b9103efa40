import exifr from 'exifr'
import { imageSize } from 'image-size'

/** What is known about a picture. Unknown fields are missing. */
export interface Picture {
  /** `jpg`, `png`, `webp`, ... */
  readonly type: string
  /** In stored pixels; `orientation` tells how to turn them. */
  readonly width?: number
  readonly height?: number
  readonly orientation?: number
  readonly camera?: { readonly make?: string; readonly model?: string; readonly lens?: string }
  /** ISO 8601; without a time zone if the camera knew none. */
  readonly taken_at?: string
  /** Degrees and metres. */
  readonly gps?: { readonly latitude: number; readonly longitude: number; readonly altitude?: number }
  readonly description?: string
  readonly author?: string
  readonly copyright?: string
  /** All tags, by block and by their names in the standards. */
  readonly tags?: Readonly<Record<string, unknown>>
}

/**
 * One object for all calls: the library keeps what it makes of each. ExifReader, which has newer releases, was tried:
 * it is MPL-2.0 and twice as large with the XML parser that it needs, does not say which block a tag is of, and takes
 * up to 12 times as long for hostile files.
 */
const OPTIONS = {
  ...{ tiff: true, exif: true, gps: true, iptc: true, xmp: true, icc: false, jfif: false, ihdr: false },
  // Dates without a time zone would get ours.
  ...{ mergeOutput: false, reviveValues: false, translateValues: false, makerNote: false, userComment: true },
} as const
const LONGEST_TEXT = 10_000

/** The library's reader of TIFF, which EXIF is, as far as we know it. */
type TiffReader = new (
  ...args: readonly unknown[]
) => {
  readonly chunk: { readonly byteLength: number; getUint32(at: number): number }
  parseTag(at: number, tag: number, block: string): unknown
}

/**
 * Entries may point to the same bytes, so that a picture of 1 MB yields 2 GB. Unless they do, their values together
 * cannot be longer than the file: further ones are left out.
 */
class BoundedTiff extends (exifr.segmentParsers.get('tiff') as TiffReader) {
  #values = 0

  override parseTag(at: number, tag: number, block: string): unknown {
    this.#values += this.chunk.getUint32(at + 4)
    return this.#values > this.chunk.byteLength ? undefined : super.parseTag(at, tag, block)
  }
}
exifr.segmentParsers.set('tiff', BoundedTiff)

/** The type of a picture by its first bytes; undefined: it is none. */
export function pictureType(head: Buffer): string | undefined {
  const text = head.toString('latin1')
  if (text.startsWith('\xff\xd8\xff')) return 'jpg'
  if (text.startsWith('\x89PNG\r\n')) return 'png'
  if (/^GIF8[79]a/.test(text)) return 'gif'
  if (/^RIFF[\s\S]{4}WEBP/.test(text)) return 'webp'
  if (/^(?:II\*\0|MM\0\*)/.test(text)) return 'tiff'
  const [, brand] = /^[\s\S]{4}ftyp(avif|avis|heic|heix|mif1|msf1)/.exec(text) ?? []
  if (brand !== undefined) return brand.startsWith('avi') ? 'avif' : 'heic'
  return undefined
}

/** Reads a picture's size and everything that it contains; a damaged one yields less. */
export async function readPicture(bytes: Buffer, type: string): Promise<Picture> {
  const size = sizeOf(bytes)
  const source = type === 'webp' ? exifInWebp(bytes) : bytes
  const blocks = ((source && (await exifr.parse(source, OPTIONS).catch(() => undefined))) ?? {}) as Blocks
  const { ifd0 = {}, exif = {}, gps = {}, xmp = {}, iptc = {} } = blocks
  const text = (...values: unknown[]) => values.map(textOf).find((value) => value !== undefined)
  const camera = { make: text(ifd0['Make']), model: text(ifd0['Model']), lens: text(exif['LensModel'], xmp['Lens']) }
  const { latitude, longitude, GPSAltitude: height } = gps as Record<string, number | undefined>
  const isBelow = (gps['GPSAltitudeRef'] as ArrayLike<number> | undefined)?.[0] === 1
  const tags = Object.entries(blocks).filter(([name]) => name !== 'errors')
  return defined({
    type,
    ...size,
    camera: nonEmpty(camera),
    taken_at: takenAt(exif) ?? text(xmp['CreateDate']),
    gps:
      isNumber(latitude) && isNumber(longitude)
        ? defined({ latitude, longitude, altitude: isNumber(height) ? (isBelow ? -height : height) : undefined })
        : undefined,
    description: text(ifd0['ImageDescription'], iptc['Caption'], xmp['description']),
    author: text(ifd0['Artist'], iptc['Byline'], xmp['creator']),
    copyright: text(ifd0['Copyright'], iptc['CopyrightNotice'], xmp['rights']),
    tags: nonEmpty(Object.fromEntries(tags.map(([name, block]) => [name, plain(block)]))),
  }) as Picture
}

type Block = Readonly<Record<string, unknown>>
type Blocks = Readonly<Record<string, Block>>

function sizeOf(bytes: Buffer): Pick<Picture, 'width' | 'height' | 'orientation'> {
  try {
    const { width, height, orientation } = imageSize(bytes)
    return defined({ width, height, orientation })
  } catch {
    return {}
  }
}

/** The EXIF block of a WebP, which the library does not look for. */
function exifInWebp(bytes: Buffer): Buffer | undefined {
  for (let at = 12; at + 8 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at + 4)
    const content = bytes.subarray(at + 8, at + 8 + length)
    if (bytes.toString('latin1', at, at + 4) === 'EXIF')
      return content.toString('latin1', 0, 6) === 'Exif\0\0' ? content.subarray(6) : content
    at += 8 + length + (length % 2)
  }
  return undefined
}

/** `2023:05:01 19:11:12`, with `+02:00` beside it in newer cameras. */
function takenAt(exif: Block): string | undefined {
  const said = textOf(exif['DateTimeOriginal'] ?? exif['CreateDate'])
  const [, year, month, day, time] = /^(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d:\d\d:\d\d)/.exec(said ?? '') ?? []
  if (year === undefined || year === '0000') return undefined
  const zone = /^[+-]\d\d:\d\d$/.exec(textOf(exif['OffsetTimeOriginal']) ?? '')?.[0] ?? ''
  return `${year}-${month}-${day}T${time}${zone}`
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

function textOf(value: unknown): string | undefined {
  const said: unknown = Array.isArray(value) ? value.join(', ') : ((value as { value?: unknown })?.value ?? value)
  return typeof said === 'string' ? said.replaceAll('\0', '').trim().slice(0, LONGEST_TEXT) || undefined : undefined
}

/** In a form for JSON: short bytes as numbers, for long ones their length. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return value.length > 64 ? `${value.length} bytes` : [...value]
  if (typeof value === 'string') return value.replaceAll('\0', '').slice(0, LONGEST_TEXT)
  if (Array.isArray(value)) return value.slice(0, 1000).map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
}

function defined<T extends object>(value: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as never
}

function nonEmpty(value: object): object | undefined {
  const kept = defined(value)
  return Object.keys(kept).length > 0 ? kept : undefined
}
