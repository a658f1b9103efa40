import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { emptySecretFields } from '../../../src/browse/browser/empty-fields.ts'
import { noPackage } from '../../support/packaged-browser.ts'
import { RealTabs } from '../../support/real-tabs.ts'
import { type Site, startSite } from '../../support/site.ts'

const VALUE = /"(SECRET|SEEN)"/g

describe.skipIf(noPackage)(`a copy of a page has nothing of what its fields hide${noPackage}`, () => {
  let site: Site
  beforeAll(async () => {
    site = await startSite({
      '/': ({ headers }, response) => {
        const elsewhere = `http://localhost:${new URL(`http://${headers.host}`).port}`
        response.writeHead(200, { 'content-type': 'text/html' })
        response.end(`<title>x</title><input type="PassWord" value="SECRET"><input value="SEEN">
          <form name="querySelectorAll"><input name="shadowRoot"><input name="shadowRoot"></form>
          <iframe src="${elsewhere}/frame"></iframe>`)
      },
      '/frame': `<input type=password value=SECRET><input value=SEEN><div></div><script>
        document.querySelector('div').attachShadow({ mode: 'closed' }).innerHTML = '<input type=password value=SECRET>'
      </script>`,
    })
  })
  afterAll(() => site.close())

  it.each([
    ['', []],
    [', not in a frame with a process of its own either', ['--site-per-process']],
  ])('in its frames and shadow roots%s', async (_, args) => {
    const tabs = await RealTabs.start({ CHROME_ARGS_EXTRA: JSON.stringify(args) })
    try {
      const tab = await tabs.visit(`${site.url}/`)
      // Only what stands in quotes: the boundary between its parts is made of random letters.
      const found = async () => {
        const { data } = await tab.send('Page.captureSnapshot', { format: 'mhtml' })
        return Array.from(data.replaceAll('=\r\n', '').matchAll(VALUE), ([, value]) => value)
          .sort()
          .join(' ')
      }
      expect(tab.inner.frames).toHaveLength(args.length)
      expect(await found()).toBe('SECRET SECRET SECRET SEEN SEEN')
      await emptySecretFields(tab)
      expect(await found()).toBe('SEEN SEEN')
    } finally {
      await tabs.close()
    }
  })
})
