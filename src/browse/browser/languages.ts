/** The languages of an Accept-Language, `de-DE,de;q=0.9`, the best first: the browser weighs them by their order. */
export function languagesIn(accepted: string | undefined): string[] {
  return (accepted ?? '').split(',').flatMap((each) => each.split(';')[0]!.trim() || [])
}
