import { describe, expect, it } from 'vitest'
import { frontMatter, mainPart } from '../../../src/plugins/markdown/article.ts'
import { toMarkdown } from '../../../src/plugins/markdown/to-markdown.ts'
import { extractArticle } from '../../../src/plugins/readability/extract-article.ts'
import { inertArticle } from '../../../src/plugins/readability/inert-article.ts'
import { surveyPage } from '../../../src/plugins/readability/survey.ts'

describe('an article as Markdown', () => {
  it.each([
    ['<h2>Title <a href="#t">¶</a></h2>', '## Title'],
    ['<p>a <b>b</b> <i>c</i> <s>d</s> *e*</p>', 'a **b** *c* ~~d~~ \\*e\\*'],
    ['<a href="https://a.test/b" title="c">d</a>', '[d](https://a.test/b "c")'],
    ['<pre data-language="ts"><code>let a = `b`\n\n</code></pre>', '```ts\nlet a = `b`\n```'],
    ['<pre>a\n```\nb</pre>', '````\na\n```\nb\n````'],
    ['<ul><li>a<ul><li>b</li></ul></li></ul>', '-   a\n    -   b'],
    ['<ul><li><input type=checkbox checked> a</li></ul>', '-   [x] a'],
    ['<blockquote><p>a</p></blockquote>', '> a'],
    [
      '<p>&lt;img src=x onerror=y&gt; 1 < 2 &lt;!-- &lt;/p> <code>&lt;b&gt;</code>',
      '\\<img src=x onerror=y> 1 < 2 \\<!-- \\</p> `<b>`',
    ],
    ['<a href="http://a/b (c)" title=\'\\") <img src=x>\'>d</a>', '[d](http://a/b%20\\(c\\) "\\\\\\") \\<img src=x>")'],
    ['<img src="http://a/b>" alt="](x) <i>" title="&#10;&#10;t">', '![\\](x) \\<i>](http://a/b%3E "t")'],
    ['<code>a</code><span><code>`&lt;img></code></span>', '`a` `` `<img> ``'],
    ['<code>x|&lt;i></code><br>:--|:--', '`x|<i>`  \n:--\\|:--'],
    ['<code> a </code><code>``</code><code> </code>', '`a` ``` `` ```'],
    ['<pre>\t```\n<i></pre>', '````\n\t```\n````'],
    ['<pre data-language="a`\n<b>">c</pre>', '```\nc\n```'],
    ['', ''],
  ])('%j is %j', (html, markdown) => {
    expect(toMarkdown(html)).toBe(markdown)
  })

  it.each([
    ['<tr><th>a<th>b<tr><td>1|2<td><p>3<p>4', '| a | b |\n| --- | --- |\n| 1\\|2 | 3<br>4 |'],
    ['<thead><tr><td>a<tbody><tr><td>b', '| a |\n| --- |\n| b |'],
    ['<tr><td>a<td>b', '|  |  |\n| --- | --- |\n| a | b |'],
    ['<tr><th colspan=2>a<tr><td>b<td>c', '| a |  |\n| --- | --- |\n| b | c |'],
    ['<caption>What</caption><tr><th>a<tr><td>', 'What\n\n| a |\n| --- |\n|  |'],
    ['<tr><td><h2>Not data</h2><table><tr><th>a</table>', '## Not data\n\n| a |\n| --- |'],
    ['<tr><td><ul><li>a<li>b', '|  |\n| --- |\n| -   a<br>-   b |'],
  ])('a table of %j is %j', (rows, markdown) => {
    expect(toMarkdown(`<table>${rows}</table>`)).toBe(markdown)
  })

  it('has the addresses that pictures had, and none that the page gives out for one of ours', () => {
    const given = '<img src="http://a/p.png"><img src="data:," data-src="file://host/x"><p data-src="y">z</p>'
    expect(mainPart(`<main>${inertArticle(given)}</main>`)).toBe('<img src="http://a/p.png"><img src="data:,"><p>z</p>')
  })

  it('has every row of a long table, in time', () => {
    const rows = Array.from({ length: 5_000 }, (_, i) => `<tr><td>${i}</td><td>b</td></tr>`).join('')
    expect(toMarkdown(`<table><tr><th>a</th><th>b</th></tr>${rows}</table>`).split('\n')).toHaveLength(5_002)
  })

  it('keeps the language of code from the page on', () => {
    const html =
      `<title>t</title><main><h1>Code</h1><p>${'Some words about it. '.repeat(40)}</p>` +
      '<pre><code class="hljs language-rust">fn main() {}</code></pre><p>More.</p></main>'
    const article = extractArticle(html, 'http://site.test/', surveyPage(html))!
    expect(toMarkdown(article.content)).toContain('```rust\nfn main() {}\n```')
  })

  it('begins with what is known of it', () => {
    const about = JSON.stringify({ title: 'A "b" *c*', byline: 'Ada\nK', url: 'http://a.test/', lang: null })
    expect(frontMatter(about, 'http://b.test/')).toBe(
      '---\ntitle: "A \\"b\\" *c*"\nauthor: "Ada K"\nurl: "http://a.test/"\n---\n\n# A "b" \\*c\\*\n\n',
    )
    expect(frontMatter('{"title":"<i>"}', 'u')).toBe('---\ntitle: "\\u003ci>"\nurl: "u"\n---\n\n# \\<i>\n\n')
    expect(frontMatter('broken', 'http://b.test/')).toBe('---\nurl: "http://b.test/"\n---\n\n')
    expect(mainPart('<body><main>\n<p>a</main></body>')).toBe('\n<p>a')
    expect(mainPart('<p>a')).toBe('<p>a')
  })
})
