// The rival: a bare puppeteer-core script that takes the same from the same pages, so many at once.
// Arguments: the folder with puppeteer-core, the browser, its font configuration and libraries, a folder, how many at
// once, `warm` (one browser for all) or `cold` (one for each page), URLs.
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [rivals, program, fonts, libraries, folder, atOnce, warmth, ...urls] = process.argv.slice(2)
const main = createRequire(join(rivals, 'package.json')).resolve('puppeteer-core')
const { default: puppeteer } = await import(pathToFileURL(main).href)
const launch = async () =>
  await puppeteer.launch({
    executablePath: program,
    args: ['--no-sandbox'],
    env: { ...process.env, FONTCONFIG_FILE: fonts, LD_LIBRARY_PATH: libraries },
  })
const shared = warmth === 'warm' ? await launch() : undefined
const queue = [...urls.entries()]
const worker = async () => {
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [index, url] = next
    const browser = shared ?? (await launch())
    const context = await browser.createBrowserContext()
    const page = await context.newPage({ type: 'window' })
    await page.setViewport({ width: 1440, height: 2000 })
    await page.goto(url, { waitUntil: ['load', 'networkidle0'] })
    const save = (name, data) => writeFileSync(join(folder, `${index}.${name}`), data)
    const session = await page.createCDPSession()
    save('mhtml', (await session.send('Page.captureSnapshot', { format: 'mhtml' })).data)
    save('png', await page.screenshot({ fullPage: true }))
    save('pdf', await page.pdf({ printBackground: true, outline: true, tagged: true }))
    save('html', await page.content())
    save('txt', await page.title())
    await (shared ? context : browser).close()
  }
}
await Promise.all(Array.from({ length: Number(atOnce) }, worker))
await shared?.close()
