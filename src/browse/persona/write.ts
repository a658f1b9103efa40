import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../base/make-folder.ts'
import { replaceFile } from '../../base/replace-file.ts'
import { type PersonaFiles, personaFiles } from './files.ts'

const FIRST_SETTINGS = `# A persona: who looks at the pages of a crawl (add --persona NAME).
# Its settings win over the environment and archivebox.toml; a crawl's own (add -c KEY=VALUE) win over both.
# Headers for one host, which go to no other, stand at the end of this file, below [headers."example.com"]:
# a line for each, such as Authorization = "Bearer ...".

# USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64) ..."
# ACCEPT_LANGUAGE = "de-DE,de;q=0.9"
# CHROME_RESOLUTION = "1280,800"        # the viewport
# CHROME_TIMEZONE = "Europe/Berlin"
`

/** Creates the folder of a persona and its persona.toml, both readable only by their owner. Existing files stay. */
export function makePersona(personas: string, name: string): PersonaFiles {
  makeFolder(personas)
  const files = personaFiles(join(personas, name))
  if (!existsSync(files.folder)) mkdirSync(files.folder, { mode: 0o700 })
  chmodSync(files.folder, 0o700)
  if (!existsSync(files.settings)) replaceFile(files.settings, FIRST_SETTINGS)
  return files
}
