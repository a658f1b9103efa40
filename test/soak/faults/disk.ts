import type { Kind } from '../kinds.ts'

export const DISK = {
  'fill the disk of the archive': { weight: 2, inflict: (world, { ms }) => world.fillDisk(ms * 2) },
} as const satisfies Record<string, Kind>
