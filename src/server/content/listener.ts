import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Home } from '../../db/home.ts'
import type { CopyAddresses } from './addresses.ts'

/** What the content listener works with: no session, no cookie, no page of the app. */
export interface Content {
  readonly home: Home
  readonly copies: CopyAddresses
  /** The app's origin: it alone may show a copy in a frame. */
  readonly app: string
}

/** Answers with a file of a capture. */
export function answerContent(_content: Content): (request: IncomingMessage, response: ServerResponse) => void {
  return (_request, response) => {
    response.writeHead(404).end()
  }
}
