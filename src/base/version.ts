declare const ARCHIVEBOX_VERSION: string | undefined

/** Whether this is the build, rather than the sources. */
export const BUILT: boolean = typeof ARCHIVEBOX_VERSION === 'string'

/** The program's version, set by the build; `dev` when run from the sources. */
export const VERSION: string = typeof ARCHIVEBOX_VERSION === 'string' ? ARCHIVEBOX_VERSION : 'dev'
