/** Does a relative path of a row, which may come from a stranger, lead out of its folder, or to that itself? */
export function leadsOut(path: string): boolean {
  return path.split('/').some((step) => step === '' || step === '.' || step === '..')
}
