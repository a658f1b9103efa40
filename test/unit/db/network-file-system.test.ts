import { expect, it } from 'vitest'
import { networkFileSystem, networkFileSystemOf } from '../../../src/db/embedded/network-file-system.ts'

it('knows a network file system by its magic number, with and without a sign', () => {
  expect(networkFileSystem(0x6969)).toBe('NFS')
  expect(networkFileSystem(0xff534d42)).toBe('CIFS')
  expect(networkFileSystem(0xff534d42 | 0)).toBe('CIFS')
  expect(networkFileSystem(0x01021997)).toBe('9p')
})

it('takes local ones, and a directory that is not there, for local', () => {
  for (const magic of [0xef53, 0x01021994, 0x58465342, 0x9123683e, 0x794c7630])
    expect(networkFileSystem(magic)).toBeUndefined()
  expect(networkFileSystemOf('/proc')).toBeUndefined()
  expect(networkFileSystemOf('/there/is/no/such/directory')).toBeUndefined()
})
