import { UsageError } from '../base/errors.ts'

/** Is this text a whole id? */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
}

/** The same text, when it is an id. Throws UsageError. */
export function uuid(text: string): string {
  if (isUuid(text)) return text.toLowerCase()
  throw new UsageError(
    `not an id: ${text}`,
    'ids look like 01994f6e-0c1a-7c3e-9d55-0123456789ab; archivebox-ts crawl list shows them',
  )
}
