/** Whether a relative, untrusted path of a row leads out of its folder, or to the folder itself. */
export function leadsOut(path: string): boolean {
  return path.split('/').some((step) => step === '' || step === '.' || step === '..')
}
