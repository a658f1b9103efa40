declare const ARCHIVEBOX_VERSION: string | undefined

/** Are we the build, or the sources as they are? */
export const BUILT: boolean = typeof ARCHIVEBOX_VERSION === 'string'

/** The program's version: put in by the build; `dev` when the sources run as they are. */
export const VERSION: string = typeof ARCHIVEBOX_VERSION === 'string' ? ARCHIVEBOX_VERSION : 'dev'
