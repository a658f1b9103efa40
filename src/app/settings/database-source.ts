import { own } from '../../base/own.ts'
import type { Configured, Source } from '../archive.ts'

/** Where the database is named, by DATABASE_URL or by a file that has it; undefined: nowhere. */
export const sourceOfDatabase = ({ sources }: Pick<Configured, 'sources'>): Source | undefined =>
  sources.find(({ texts }) => own(texts, 'DATABASE_URL')?.trim())
