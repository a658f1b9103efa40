import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const SQLITE = 'libsqlite3.so.0'

/** Where systems keep it. */
const PLACES = '/lib /usr/lib /usr/local/lib /lib64 /usr/lib64 /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu'.split(
  ' ',
)

/** Whether this system has SQLite. */
export const hasSqlite = (): boolean => PLACES.some((place) => existsSync(join(place, SQLITE)))

/** The functions that NSS calls; all but OPEN return 0. */
const FUNCTIONS = [
  ...'bind_blob bind_int bind_text busy_timeout close column_blob column_bytes column_count column_int'.split(' '),
  ...'column_name column_text exec file_control finalize free mprintf prepare_v2 reset step'.split(' '),
].map((name) => `sqlite3_${name}`)
const OPEN = 'sqlite3_open_v2'
const VARIABLE = 'sqlite3_temp_directory'

const PAGE = 4096
const HEADERS = 64 + 4 * 56
/** `xor eax, eax; ret` and `mov eax, 14; ret`: SQLITE_CANTOPEN. */
const NOTHING = [0x31, 0xc0, 0xc3]
const CANNOT_OPEN = [0xb8, 14, 0, 0, 0, 0xc3]

/**
 * Builds a SQLite that opens no database, as a shared library. The packaged browser's NSS is linked with SQLite, which
 * a bare system lacks: without it, the first page over TLS would end the browser. NSS uses it only for an account's own
 * certificates, and works without them (ELF gABI; x86-64, like the packaged browser).
 *
 * No alternative was found: no npm package carries the library (the addons with SQLite in them export nothing of it),
 * no flag helps (Chromium exits when NSS does not load), and no entry can be changed (NSS is bound as a whole when it
 * is loaded).
 */
export function withoutSqlite(): Buffer {
  const names = [SQLITE, ...FUNCTIONS, OPEN, VARIABLE]
  const strings = Buffer.from(`\0${names.join('\0')}\0`)
  const nameAt = (name: string) => strings.indexOf(`\0${name}\0`) + 1
  const symbols = names.length // The null symbol comes first; SQLITE is the library's own name.
  const hashAt = HEADERS
  const symbolsAt = hashAt + (4 * (3 + symbols) + 7) - ((4 * (3 + symbols) + 7) % 8)
  const stringsAt = symbolsAt + 24 * symbols
  const nothingAt = stringsAt + strings.length
  const openAt = nothingAt + NOTHING.length
  const codeEnd = openAt + CANNOT_OPEN.length
  const dynamic: readonly (readonly [number, number])[] = [
    [14, nameAt(SQLITE)], // DT_SONAME
    [4, hashAt],
    [5, stringsAt],
    [6, symbolsAt],
    [10, strings.length],
    [11, 24],
    [0, 0],
  ]
  const variableAt = PAGE + 16 * dynamic.length
  const file = Buffer.alloc(variableAt + 8)
  const longs = (at: number, ...values: readonly number[]) =>
    values.forEach((value, index) => void file.writeBigUInt64LE(BigInt(value), at + 8 * index))

  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]) // ELF, 64 bits, little-endian
  file.writeUInt16LE(3, 16) // ET_DYN
  file.writeUInt16LE(62, 18) // EM_X86_64
  file.writeUInt32LE(1, 20)
  longs(32, 64) // The offset of the program headers.
  for (const [index, value] of [64, 56, 4, 64].entries()) file.writeUInt16LE(value, 52 + 2 * index)
  const size = file.length - PAGE
  const segments = [
    [1, 5, 0, 0, 0, codeEnd, codeEnd, PAGE], // PT_LOAD, readable and executable
    [1, 6, PAGE, PAGE, PAGE, size, size, PAGE], // PT_LOAD, writable
    [2, 6, PAGE, PAGE, PAGE, 16 * dynamic.length, 16 * dynamic.length, 8], // PT_DYNAMIC
    [0x6474e551, 6, 0, 0, 0, 0, 0, 16], // PT_GNU_STACK, not executable
  ]
  for (const [index, [type = 0, flags = 0, ...rest]] of segments.entries()) {
    file.writeUInt32LE(type, 64 + 56 * index)
    file.writeUInt32LE(flags, 68 + 56 * index)
    longs(72 + 56 * index, ...rest)
  }
  const chains = Array.from({ length: symbols }, (_, index) => (index === 0 ? 0 : (index + 1) % symbols))
  for (const [index, value] of [1, symbols, 1, ...chains].entries()) file.writeUInt32LE(value, hashAt + 4 * index)
  for (const [index, name] of names.slice(1).entries()) {
    const at = symbolsAt + 24 * (index + 1)
    const isVariable = name === VARIABLE
    file.writeUInt32LE(nameAt(name), at)
    file[at + 4] = isVariable ? 0x11 : 0x12 // Global: an object, or a function.
    file.writeUInt16LE(1, at + 6)
    longs(at + 8, isVariable ? variableAt : name === OPEN ? openAt : nothingAt, 8)
  }
  file.set(strings, stringsAt)
  file.set(NOTHING, nothingAt)
  file.set(CANNOT_OPEN, openAt)
  for (const [index, [tag, value]] of dynamic.entries()) longs(PAGE + 16 * index, tag, value)
  return file
}
