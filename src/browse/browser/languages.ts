/** The languages in an Accept-Language such as `de-DE,de;q=0.9`, the best first: the browser weights them by order. */
export function languagesIn(accepted: string | undefined): string[] {
  return (accepted ?? '').split(',').flatMap((each) => each.split(';')[0]!.trim() || [])
}
