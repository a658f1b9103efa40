import { createHash } from 'node:crypto'
import type { Asked } from '../visit.ts'

/** JSON, with an ETag that lets a program ask whether it is still the same. */
export function answerJson(c: Asked, value: unknown): Response {
  const body = `${JSON.stringify(value)}\n`
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
  c.header('ETag', tag)
  c.header('Cache-Control', 'private, no-cache')
  const known = c.req.header('if-none-match')?.split(',') ?? []
  if (known.some((one) => one.trim().replace(/^W\//, '') === tag)) return c.body(null, 304)
  return c.body(body, 200, { 'Content-Type': 'application/json; charset=utf-8' })
}
