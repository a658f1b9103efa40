/** Seconds in words: `4 s`, `3 min`, `2 h`, `5 days`. */
export function duration(seconds: number): string {
  const value = Math.max(0, seconds)
  if (value < 120) return `${Math.round(value)} s`
  if (value < 7200) return `${Math.round(value / 60)} min`
  if (value < 172_800) return `${Math.round(value / 3600)} h`
  return `${Math.round(value / 86_400)} days`
}
