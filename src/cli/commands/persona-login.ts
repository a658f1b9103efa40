import { once } from 'node:events'
import { login } from '../../app/personas/login.ts'
import { interruptible } from '../interrupts.ts'
import { sayMeanwhile } from '../meanwhile.ts'
import { pageUrl } from '../page-url.ts'
import { personasOf } from '../persona/find.ts'
import type { Asked } from '../settings.ts'
import { terminal } from '../terminal.ts'

/**
 * `persona login NAME URL`: a person logs in, in a window, or through the DevTools of another browser; cookies and
 * storage are saved when they are done: Enter, the end of stdin, Ctrl-C, or a closed window.
 */
export async function personaLogin(
  asked: Asked,
  name: string,
  given: string,
  { remote = false }: { remote?: boolean },
): Promise<void> {
  const url = pageUrl(given)
  const { personas } = personasOf(asked)
  const done = async () => {
    const input = process.stdin.resume()
    await Promise.race([once(input, 'data'), once(input, 'end')])
  }
  await interruptible(async (signal) => {
    try {
      await login(asked, { personas, name, url, isRemote: remote, done }, { signal, tell: sayMeanwhile })
    } finally {
      process.stdin.pause()
    }
  })
  terminal.say(`archivebox-ts persona test ${name} URL checks a page; add --persona ${name} archives with it`)
}
