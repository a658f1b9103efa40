import type { Persona } from './persona.ts'

/** Has somebody with these anything that may let others in, or that a page may show to nobody else? */
export const hasLogins = ({ cookies, headers, origins }: Pick<Persona, 'cookies' | 'headers' | 'origins'>): boolean =>
  cookies.length + headers.size + origins.length > 0
