/** One line of a list of records: a record, or plain text such as an id or a URL. */
export interface Line {
  readonly text: string
  readonly record: Readonly<Record<string, unknown>> | undefined
}
