/** How a list can be shown. */
export const FORMATS = ['table', 'wide', 'jsonl', 'csv', 'ids'] as const
export type Format = (typeof FORMATS)[number]

/** The same as it was typed. */
export interface PrintOptions {
  readonly wide?: boolean
  readonly output?: Format
  readonly columns?: string
}
