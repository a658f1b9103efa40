import { hasLogins } from '../persona/credentials.ts'
import { credentialsFor } from '../persona/credentials-for.ts'
import type { RequestContext } from '../request-context.ts'
import { Recording } from './recording.ts'

/** The recording of a visit; undefined: it is not recorded. */
export function recordingOf({ visit, env }: Pick<RequestContext, 'visit' | 'env'>): Recording | undefined {
  if (visit?.recordInto === undefined || visit.recording) return visit?.recording
  const isPrivate = credentialsFor({ visit, env }).then(hasLogins, () => true)
  const recording = new Recording(visit.recordInto, env, isPrivate)
  visit.recording = recording
  visit.onClose(() => recording.discard())
  return recording
}
