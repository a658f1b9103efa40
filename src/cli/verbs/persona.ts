import type { Command } from 'commander'
import { listOptions } from '../records/list-options.ts'
import type { Asked } from '../settings.ts'
import { verb } from '../verb.ts'

/** `persona`: the identities that visit pages. */
export function registerPersona(root: Command, asked: () => Promise<Asked>): void {
  const load = () => import('../commands/persona.ts')
  const group = verb(root, 'persona', 'personas: the logins, headers and settings that pages are visited with')
  listOptions(
    verb(group, 'list', 'all personas, and which of their cookies have expired', ['archivebox-ts persona list']),
  ).action(async (options: object) => (await load()).personaList(await asked(), options))
  verb(group, 'new', 'create a persona', [
    'archivebox-ts persona new Reader',
    'archivebox-ts persona new Berlin ACCEPT_LANGUAGE=de-DE CHROME_TIMEZONE=Europe/Berlin',
  ])
    .argument('<new-name>')
    .argument('[key=value...]', 'settings for its crawls')
    .action(async (name: string, pairs: string[]) => (await load()).personaNew(await asked(), name, pairs))
  verb(group, 'show', 'everything about a persona, without its secrets', ['archivebox-ts persona show Reader'])
    .argument('<name...>')
    .action(async (names: string[]) => (await load()).personaShow(await asked(), names))
  verb(group, 'set', 'change a setting in its persona.toml; comments and everything else stay as they are', [
    'archivebox-ts persona set Reader CHROME_RESOLUTION=1280,800',
  ])
    .argument('<name>')
    .argument('<key=value...>')
    .action(async (name: string, pairs: string[]) => (await load()).personaSet(await asked(), name, pairs))
  verb(group, 'edit', 'open its persona.toml, which also has its headers, in $EDITOR, and check the result', [
    'EDITOR=true archivebox-ts persona edit Reader',
  ])
    .argument('<name>')
    .action(async (name: string) => (await import('../commands/persona-edit.ts')).personaEdit(await asked(), name))
  verb(group, 'import', 'import cookies of a browser: a cookies.txt, or JSON as browser extensions export it', [
    'archivebox-ts persona import Reader cookies.txt',
  ])
    .argument('<name>')
    .argument('<file>', 'or - for stdin')
    .action(async (name: string, file: string) =>
      (await import('../commands/persona-import.ts')).personaImport(await asked(), name, file),
    )
  verb(group, 'login', 'open a browser to log in; press Enter or close its window to save its cookies and storage', [
    'archivebox-ts persona login Reader https://example.com',
    'archivebox-ts persona login --remote Reader https://example.com',
  ])
    .argument('<name>')
    .argument('<url>')
    .option('--remote', 'open no window here; log in through the DevTools of a browser elsewhere')
    .action(async (name: string, url: string, options: { remote?: boolean }) =>
      (await import('../commands/persona-login.ts')).personaLogin(await asked(), name, url, options),
    )
  verb(group, 'test', 'visit a page with this persona: logged in (exit code 0), or asked for a password (1)', [
    'archivebox-ts persona test Reader https://example.com',
  ])
    .argument('<name>')
    .argument('<url>')
    .action(async (name: string, url: string) =>
      (await import('../commands/persona-test.ts')).personaTest(await asked(), name, url),
    )
  verb(group, 'delete', 'delete personas, with their cookies and logins', ['archivebox-ts persona delete --yes Berlin'])
    .argument('<name...>')
    .option('--yes', 'do it: without this nothing is changed')
    .action(async (names: string[], options: { yes?: boolean }) =>
      (await load()).personaDelete(await asked(), names, options),
    )
}
