import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Cdp } from '../../src/plugins/base/browser/cdp.ts'
import { guardBrowser } from '../../src/plugins/base/browser/guard.ts'
import { launchBrowser, type RunningBrowser } from '../../src/plugins/base/browser/launch.ts'
import { newFolder } from '../support/folders.ts'
import { noOtherUser, OTHER_USER } from '../support/other-user.ts'
import { noPackage, packagedBrowser } from '../support/packaged-browser.ts'
import { eventually, NODE } from '../support/program.ts'

describe.skipIf(noPackage)(`one browser for all${noPackage}`, () => {
  const folder = newFolder()
  let browser: RunningBrowser

  beforeAll(async () => {
    const sockets = join(folder, 'sockets')
    mkdirSync(sockets, { mode: 0o700 })
    browser = await launchBrowser(await packagedBrowser(), folder, sockets, { CHROME_SANDBOX: 'false' })
  })
  afterAll(async () => {
    browser.process.kill('SIGKILL')
    await browser.ended
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  it('lets many speak to it, each as if it were alone, and forgets what a gone one has made', async () => {
    const [one, other] = await Promise.all([1, 2].map(() => Cdp.connect(browser.relay.endpoint)))
    const open = async (cdp: Cdp) => {
      const { browserContextId } = await cdp.send('Target.createBrowserContext', { disposeOnDetach: true })
      const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank', browserContextId })
      const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true })
      return { tab: cdp.session(sessionId), targetId }
    }
    const [first, second] = await Promise.all([open(one!), open(other!)])
    const heard: string[] = []
    for (const [name, { tab }] of Object.entries({ first, second })) {
      tab.on('Runtime.consoleAPICalled', ({ args }) => heard.push(`${name} ${args[0]?.value}`))
      await tab.send('Runtime.enable')
    }
    // At once, under the same numbers; one answer is longer than a pipe holds.
    const expression = 'console.log(1), "x".repeat(1e6)'
    const answers = [first, second].map(({ tab }, at) =>
      tab.send('Runtime.evaluate', { expression: at === 0 ? expression : 'console.log(2), "short"' }),
    )
    const values = (await Promise.all(answers)).map(({ result }) => String(result.value).length)
    expect(values).toEqual([1e6, 5])
    expect(heard.toSorted()).toEqual(['first 1', 'second 2'])
    await expect(first.tab.send('Page.navigate', {} as never)).rejects.toThrow('the browser refused')

    const tabs = async () => (await other!.send('Target.getTargets')).targetInfos.map(({ targetId }) => targetId)
    expect(await tabs()).toEqual(expect.arrayContaining([first.targetId, second.targetId]))
    one!.close()
    await eventually(async () => !(await tabs()).includes(first.targetId))
    expect(await tabs()).toContain(second.targetId)
    other!.close()
  })

  it.skipIf(noOtherUser)(`is out of reach for other accounts${noOtherUser ? ` (${noOtherUser})` : ''}`, () => {
    const path = browser.relay.endpoint.split(':')[1]!
    const connect = `require('net').connect(${JSON.stringify(path)}).on('connect', () => console.log('in'))
      .on('error', ({ code }) => console.log(code))`
    const said = (as: object) => {
      const { stdout } = spawnSync(NODE, ['-e', `${connect}; setTimeout(process.exit, 200)`], { cwd: '/', ...as })
      return String(stdout).trim()
    }
    expect(said(OTHER_USER)).toBe('EACCES')
    expect(said({})).toBe('in')
    expect(browser.process.spawnargs.filter((arg) => arg.includes('remote-debugging'))).toEqual([
      '--remote-debugging-pipe',
    ])
  })

  it('is ended when it is frozen', async () => {
    const said: string[] = []
    const unguard = guardBrowser(browser, Number.POSITIVE_INFINITY, (line) => said.push(line))
    browser.process.kill('SIGSTOP')
    await browser.ended
    unguard()
    expect(said).toEqual(['The browser was frozen and was ended.'])
    expect(browser.process.signalCode).toBe('SIGKILL')
  })
})
