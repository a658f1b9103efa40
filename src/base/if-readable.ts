import { readdirSync, readFileSync } from 'node:fs'

/** The text of a file; '' when it is gone, or not ours to read. */
export function textIn(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** The names in a folder; none when it is gone, or not ours to read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
