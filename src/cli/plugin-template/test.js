// node --test test.js: runs the hook as the archiver does.
const assert = require('node:assert/strict')
const { execFileSync } = require('node:child_process')
const { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { test } = require('node:test')

test('NAME', () => {
  const folder = mkdtempSync(join(tmpdir(), 'NAME-'))
  try {
    mkdirSync(join(folder, 'html'))
    mkdirSync(join(folder, 'NAME'))
    writeFileSync(join(folder, 'html', 'output.html'), 'hello')
    const hook = join(__dirname, 'HOOK')
    const said = execFileSync(process.execPath, [hook, '--url=https://example.com/'], { cwd: join(folder, 'NAME') })
    assert.equal(JSON.parse(said).output_str, '5 bytes of HTML')
    const made = JSON.parse(readFileSync(join(folder, 'NAME', 'NAME.json')))
    assert.deepEqual(made, { url: 'https://example.com/', bytes: 5 })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
