#!/usr/bin/env node
// The redirect chain and the headers of a page, without its body.
import { writeJson } from '../../base/whole-file.ts'
import { fetchPage } from '../../browse/index.ts'
import { defineHook, succeeded } from '../base/hook.ts'

export default defineHook(import.meta, {
  plugin: 'headers',
  async run(context) {
    const answer = await fetchPage(context)
    // The names are ArchiveBox's; its readers know `headers` and `response_headers`. An HTTP error is worth keeping,
    // too.
    writeJson(context.outputDir, 'headers.json', {
      url: context.url,
      final_url: answer.url,
      status: answer.status,
      statusText: answer.statusText,
      redirects: answer.redirects,
      request_headers: answer.requestHeaders,
      response_headers: answer.headers,
      headers: answer.headers,
      with_credentials: answer.hasCredentials || undefined,
      not_modified: answer.notModified,
    })
    return succeeded('headers/headers.json')
  },
})
