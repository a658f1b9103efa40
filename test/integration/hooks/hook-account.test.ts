import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePersona } from '../../../src/browse/persona/write.ts'
import { serverAccount } from '../../../src/db/embedded/account.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { noOtherUser } from '../../support/other-user.ts'
import { plugin, setUpHook } from '../../support/plugins.ts'
import { allProcesses, processesOf } from '../../support/processes.ts'
import { eventually } from '../../support/program.ts'
import { pages, type Site, startSite } from '../../support/site.ts'

// The homes lie in a folder that only root may enter.
const homes = useHomes({ HOOK_USER: '' })
let site: Site

beforeAll(async () => {
  site = await startSite(pages(3))
})
afterAll(() => site.close())

const uidOf = (pid: number) => statSync(`/proc/${pid}`).uid

/** Files and folders of the archive that do not belong to root, or would run as their owner. */
function strange({ dataDir }: TestHome): string[] {
  const archive = join(dataDir, 'archive')
  return readdirSync(archive, { recursive: true, encoding: 'utf8' }).filter((path) => {
    const { uid, mode } = statSync(join(archive, path), { throwIfNoEntry: false }) ?? { uid: 0, mode: 0 }
    return uid !== 0 || (mode & 0o6000) !== 0
  })
}

/** The plugins whose results the home has, and how those ended that did not succeed. */
async function resultsOf(home: TestHome): Promise<string[]> {
  const rows = await home.query<{ plugin: string; status: string }>('select plugin, status from archive_result')
  return rows.map(({ plugin, status }) => (status === 'succeeded' ? plugin : `${plugin} ${status}`)).sort()
}

async function archived(home: TestHome, plugins: string): Promise<(path: string) => string> {
  const id = await home.add('--plugins', plugins, `${site.url}/page-1.html`)
  const { code, stderr } = await home.run(['run', '--exit-on-idle'])
  expect(code, stderr).toBe(0)
  const [folder] = await home.query<{ output_dir: string }>('select output_dir from snapshot where crawl_id = $1', [id])
  return (path) => readFileSync(join(home.dataDir, folder!.output_dir, path), 'utf8').trim()
}

/** Logs of complaints that say nothing. */
function emptyLogs({ dataDir }: TestHome): string[] {
  const files = readdirSync(join(dataDir, 'archive', 'snapshots'), { recursive: true, encoding: 'utf8' })
  return files.filter(
    (path) => path.endsWith('.stderr.log') && statSync(join(dataDir, 'archive', 'snapshots', path)).size === 0,
  )
}

describe.skipIf(noOtherUser)(`as root${noOtherUser ? `: ${noOtherUser}` : ''}`, () => {
  it('hooks run as another account, with a home of their own, out of reach of what is ours', async () => {
    const home = await homes.make()
    const { uid } = serverAccount()!
    writeFileSync(join(home.dataDir, 'secret'), 'hush', { mode: 0o600 })
    const { cookies } = makePersona(join(home.dataDir, 'personas'), 'Me')
    writeFileSync(cookies, '# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tours\n', {
      mode: 0o600,
    })
    setUpHook(home, 'prepares', '10_it.sh', 'id -u >uid.txt; echo "ready"')
    plugin(
      home,
      'tells',
      `id -u >uid.txt; id -G >groups.txt; echo "$HOME" >home.txt; touch "$HOME/mine"
      touch "$PERSONAS_DIR/$ACTIVE_PERSONA/chrome_profile/mine"
      grep -c ours "$COOKIES_FILE" >cookies.txt; stat -c %a "$COOKIES_FILE" >mode.txt
      cat "$DATA_DIR/secret" "$DATA_DIR/personas/Me/cookies.txt" "/proc/$PPID/environ" >seen.txt 2>/dev/null
      : >"$SNAP_DIR/../mine" && echo wrote >outside.txt
      cat ../headers/headers.json >headers.txt; echo x >>../headers/headers.json
      echo '#!/bin/sh' >suid.sh; chmod 6755 suid.sh; ln -s /etc/passwd leads; mkdir deep; echo 1 >deep/er.txt; exit 0`,
    )
    plugin(home, 'fails', 'echo part >part.txt; exit 1')
    const read = await archived(home, 'headers,html,hashes,prepares,tells,fails')
    expect(read('tells/uid.txt')).toBe(String(uid))
    expect(read('tells/groups.txt').split(' ')).toHaveLength(1)
    expect(read('tells/home.txt')).toBe(join(home.dataDir, `.hooks-${uid}`, 'own'))
    expect(read('tells/seen.txt')).toBe('')
    expect(read('tells/headers.txt')).toContain('content-type')
    expect(() => read('tells/outside.txt')).toThrow('ENOENT')
    expect(read('headers/headers.json')).not.toContain('x\n')
    expect(read('tells/deep/er.txt')).toBe('1')
    expect(() => read('tells/leads')).toThrow('ENOENT')
    expect(strange(home)).toEqual([])
    expect(await resultsOf(home)).toEqual(['fails failed', 'hashes', 'headers', 'html', 'tells'])
    expect(emptyLogs(home)).toEqual([])

    const asMe = await home.add('--persona', 'Me', '--plugins', 'tells', `${site.url}/page-2.html`)
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    const [{ output_dir: folder } = { output_dir: '' }] = await home.query<{ output_dir: string }>(
      'select output_dir from snapshot where crawl_id = $1',
      [asMe],
    )
    const told = (name: string) => readFileSync(join(home.dataDir, folder, 'tells', name), 'utf8').trim()
    expect([told('cookies.txt'), told('mode.txt')]).toEqual(['1', '600'])
    // Where ArchiveBox's browser has its profile: it is kept, and cookies are not.
    const personas = join(home.dataDir, `.hooks-${uid}`, 'personas')
    expect(readdirSync(personas, { recursive: true }).sort()).toEqual(
      ['Default', 'Me'].flatMap((name) => ['', '/chrome_profile', '/chrome_profile/mine'].map((at) => name + at)),
    )
    expect(statSync(cookies)).toMatchObject({ uid: 0, mode: 0o100600 })
    expect(strange(home)).toEqual([])
  })

  it('a page whose persona is gone is not visited as nobody', async () => {
    const home = await homes.make()
    makePersona(join(home.dataDir, 'personas'), 'Me')
    await home.add('--persona', 'Me', '--plugins', 'headers', `${site.url}/page-1.html`)
    rmSync(join(home.dataDir, 'personas', 'Me'), { recursive: true })
    expect((await home.run(['run', '--exit-on-idle'], { env: { HOOK_USER: serverAccount()!.name } })).code).toBe(0)
    expect(await home.value("select output_str from archive_result where plugin = 'headers'")).toBe(
      'there is no persona Me here',
    )
  })

  it('a program that a hook names is asked for its version by their account, too', async () => {
    const home = await homes.make()
    plugin(
      home,
      'names',
      `printf '#!/bin/sh\\nid -u >%s/as.txt; echo 1.2.3\\n' "$HOME" >"$HOME/tool"; chmod +x "$HOME/tool"
      echo "{\\"type\\":\\"Binary\\",\\"name\\":\\"tool\\",\\"abspath\\":\\"$HOME/tool\\"}"; echo 1 >1.txt`,
    )
    plugin(home, 'asks', 'echo "$TOOL_BINARY" >path.txt')
    const config = { properties: { TOOL_BINARY: { default: 'tool' } }, required_binaries: [{ name: '{TOOL_BINARY}' }] }
    writeFileSync(join(home.dataDir, 'plugins', 'asks', 'config.json'), JSON.stringify(config))
    await archived(home, 'names')
    const read = await archived(home, 'asks')
    const { uid } = serverAccount()!
    const own = join(home.dataDir, `.hooks-${uid}`, 'own')
    expect(read('asks/path.txt')).toBe(join(own, 'tool'))
    expect(readFileSync(join(own, 'as.txt'), 'utf8').trim()).toBe(String(uid))
    expect(await home.query('select version from "binary" where name = \'tool\'')).toEqual([{ version: '1.2.3' }])
  })

  it('what they leave when their runner is killed is ended, and the page is archived by the next one', async () => {
    const home = await homes.make()
    const { uid } = serverAccount()!
    plugin(
      home,
      'stays',
      '[ -e "$HOME/again" ] || { touch "$HOME/again"; echo half >half.txt; sleep 1000; }; echo 1 >1.txt',
    )
    await home.add('--plugins', 'headers,stays', `${site.url}/page-1.html`)
    const runner = home.start(['run'])
    // What makes it another account's has its command line already.
    const isIt = ({ pid, command }: { pid: number; command: string }) =>
      command.includes('stays.sh') && uidOf(pid) === uid
    const hook = await eventually(() => processesOf(home.dataDir).find(isIt))
    const others = processesOf(home.dataDir).filter(({ command }) => / worker (crawl|snapshot)/.test(command))
    expect(others.map(({ pid }) => uidOf(pid))).toEqual(others.map(() => 0))
    await eventually(() => existsSync(join(home.dataDir, `.hooks-${uid}`, 'own', 'again')))
    runner.signal('SIGKILL')
    await eventually(() => !allProcesses().some(({ pid }) => pid === hook.pid))
    expect((await home.run(['run', '--exit-on-idle'])).code).toBe(0)
    expect(await resultsOf(home)).toEqual(['headers', 'stays'])
    expect(strange(home)).toEqual([])
  })

  it('HOOK_USER names another one, or nobody else; a user that is none is refused', async () => {
    const home = await homes.make()
    plugin(home, 'tells', 'id -un >user.txt')
    for (const user of ['nobody', 'root']) {
      const id = await home.add('--plugins', 'tells', `${site.url}/page-${user === 'root' ? 1 : 2}.html`)
      expect((await home.run(['run', '--exit-on-idle'], { env: { HOOK_USER: user } })).code).toBe(0)
      const [row] = await home.query<{ output_dir: string }>('select output_dir from snapshot where crawl_id = $1', [
        id,
      ])
      expect(readFileSync(join(home.dataDir, row!.output_dir, 'tells', 'user.txt'), 'utf8').trim()).toBe(user)
    }
    const { code, stderr } = await home.run(['run', '--exit-on-idle'], { env: { HOOK_USER: 'no-such-user' } })
    expect([code, stderr]).toEqual([2, expect.stringContaining('HOOK_USER=no-such-user: there is no such user')])
  })
})
