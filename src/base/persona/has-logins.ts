import type { Persona } from './persona.ts'

/** Whether these may let somebody sign in, or make a page show what others must not see. */
export const hasLogins = ({ cookies, headers, origins }: Pick<Persona, 'cookies' | 'headers' | 'origins'>): boolean =>
  cookies.length + headers.size + origins.length > 0
