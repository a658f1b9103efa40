import { describe, expect, it } from 'vitest'
import { verbTree } from '../../../src/cli/completion/tree.ts'
import { complete } from '../../../src/cli/completion/words.ts'
import { commandTree } from '../../../src/cli/program.ts'

const tree = verbTree(commandTree())
const asked: (readonly [source: string, begun: string, dataDir: string | undefined])[] = []

/** What is offered at the end of a line: words, and FILES. What is looked up is called after its source. */
async function offered(line: string): Promise<string[]> {
  asked.length = 0
  const { files, words } = await complete(tree, line.split(' '), async (source, begun, typed) => {
    asked.push([source, begun, typed.get('--data-dir')])
    return ['one', 'two'].map((name) => ({ word: `${source}-${name}`, about: '' }))
  })
  return [...words.map(({ word }) => word), ...(files ? ['FILES'] : [])]
}

describe('completion', () => {
  it.each([
    ['sna', ['snapshot']],
    ['config ', ['list', 'get', 'set', 'unset', 'edit']],
    ['crawl pa', ['pause']],
    ['--data-dir x crawl pa', ['pause']],
    ['--data-dir=x crawl pa', ['pause']],
    ['crawl --json pa', ['pause']],
    ['nonsense ', []],
    ['status ', []],
    ['help sna', ['snapshot']],
    ['help crawl pa', ['pause']],
    ['help nonsense pa', []],
    ['completion ', ['bash', 'zsh', 'fish']],
    ['add --max-u', ['--max-urls']],
    ['crawl list --wide --o', ['--outcome', '--output']],
    ['add --no-c', ['--no-color']],
    ['process list --type wor', ['worker']],
    ['process list --type=wor', ['--type=worker']],
    ['plugin new x --lang p', ['py']],
    ['add --file ', ['FILES']],
    ['--data-dir ', ['FILES']],
    ['add --label ', []],
    ['crawl show ', ['crawl-id-one', 'crawl-id-two']],
    ['crawl show crawl-id-one ', ['crawl-id-one', 'crawl-id-two']],
    ['process logs ', ['process-id-one', 'process-id-two']],
    ['snapshot list --crawl-id ', ['crawl-id-one', 'crawl-id-two']],
    ['result retry snapshot', []],
    ['add --tag ', ['tag-one', 'tag-two']],
    ['add --tag tag-one,', ['tag-one,tag-two']],
    ['add --plugins plugin-one,plugin-t', ['plugin-one,plugin-two']],
    ['result list --plugin p', ['plugin-one', 'plugin-two']],
    ['plugin show ', ['plugin-one', 'plugin-two']],
    ['plugin install ', ['plugin-one', 'plugin-two', 'replay']],
    ['plugin disable plugin-one plugin-t', ['plugin-two']],
    ['plugin run plugin-one htt', []],
    ['plugin new ', []],
    ['config get s', ['setting-one', 'setting-two']],
    ['config set s', ['setting-one=', 'setting-two=']],
    ['add -c setting-o', ['setting-one=']],
  ])('of %j offers %j', async (line, expected) => {
    expect(await offered(line)).toEqual(expected)
  })

  it('looks things up in the data dir that was typed', async () => {
    await offered('crawl show --data-dir elsewhere abc')
    expect(asked).toEqual([['crawl-id', 'abc', 'elsewhere']])
    await offered('add -c WGET_ENABLED=t')
    expect(asked).toEqual([['setting', 'WGET_ENABLED=t', undefined]])
  })

  it('offers every verb and option that a help shows', async () => {
    const walk = async (verb: typeof tree, path: string): Promise<void> => {
      const names = verb.verbs.map(({ name }) => name)
      if (names.length > 0) expect(await offered(path), path).toEqual(names)
      const long = verb.flags.flatMap((flag) => flag.names.filter((name) => name.startsWith('--')))
      expect(await offered(`${path}--`), path).toEqual(expect.arrayContaining(long))
      for (const inner of verb.verbs) await walk(inner, `${path}${inner.name} `)
    }
    await walk(tree, '')
  })
})
