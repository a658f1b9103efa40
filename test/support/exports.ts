// Lists as services and browsers export them, each with its entries.

interface Export {
  readonly list: string
  readonly entries: readonly object[]
}

const NETSCAPE = `<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file. -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks Menu</H1>
<DL><p>
    <DT><A HREF="place:sort=8">Recent</A>
    <DT><H3 ADD_DATE="1500000000" PERSONAL_TOOLBAR_FOLDER="true">My own bar</H3>
    <DL><p>
        <DT><A HREF="https://a.example/?a=1&amp;b=2" ADD_DATE="1500000000" TAGS="x,y z">A &amp; B</A>
        <DD>a note &lt;here&gt;
        <DT><H3>News</H3>
        <DD>about the folder
        <DL><p>
            <DT><A HREF="https://b.example/" ADD_DATE="1500000001" LAST_MODIFIED="1">B</A>
        </DL><p>
        <DT><A HREF="javascript:void(0)">JS</A>
    </DL><p>
</DL>`

export const EXPORTS: Readonly<Record<string, Export>> = {
  browsers: {
    list: NETSCAPE,
    entries: [
      {
        url: 'https://a.example/?a=1&b=2',
        title: 'A & B',
        tags: ['x', 'y z'],
        notes: 'a note <here>',
        at: '2017-07-14T02:40:00.000Z',
      },
      { url: 'https://b.example/', title: 'B', tags: ['News'], at: '2017-07-14T02:40:01.000Z' },
      { url: 'javascript:void(0)', title: 'JS' },
    ],
  },
  'Pocket, HTML': {
    list: `<!DOCTYPE html>
<html><head><meta charset="UTF-8"><title>Pocket Export</title></head><body><h1>Unread</h1>
<ul><li><a href="https://a.example/" time_added="1500000000" tags="x,y">A</a></li></ul>
<h1>Read Archive</h1><ul></ul></body></html>`,
    entries: [{ url: 'https://a.example/', title: 'A', tags: ['x', 'y'], at: '2017-07-14T02:40:00.000Z' }],
  },
  'Pocket, CSV': {
    list: 'title,url,time_added,tags,status\n"A, b",https://a.example/,1500000000,x|y,unread\n',
    entries: [{ url: 'https://a.example/', title: 'A, b', tags: ['x', 'y'], at: '2017-07-14T02:40:00.000Z' }],
  },
  Instapaper: {
    list: `URL,Title,Selection,Folder,Timestamp,Tags
https://a.example/,A,"some, text",Unread,1500000000,"[""x"", ""y""]"
`,
    entries: [
      { url: 'https://a.example/', title: 'A', notes: 'some, text', tags: ['x', 'y'], at: '2017-07-14T02:40:00.000Z' },
    ],
  },
  Raindrop: {
    list: `id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite
1,A,my note,an excerpt,https://a.example/,Unsorted,"x, y",2022-01-02T03:04:05.678Z,,,false
2,B,,,https://b.example/,Reading,,2022-01-02T03:04:05.678Z,,,true
`,
    entries: [
      { url: 'https://a.example/', title: 'A', notes: 'my note', tags: ['x', 'y'], at: '2022-01-02T03:04:05.678Z' },
      { url: 'https://b.example/', title: 'B', tags: ['Reading'], at: '2022-01-02T03:04:05.678Z' },
    ],
  },
  Readwise: {
    list: `Title,URL,ID,Document tags,Saved date,Reading progress,Location,Seen
A,https://a.example/,01h,"['x', 'y']",2023-01-02 03:04:05+00:00,0.5,archive,True
`,
    entries: [{ url: 'https://a.example/', title: 'A', tags: ['x', 'y'], at: '2023-01-02T03:04:05.000Z' }],
  },
  Pinboard: {
    list: `[{"href":"https:\\/\\/a.example\\/","description":"A","extended":"a note","meta":"9f","hash":"ab",\
"time":"2012-01-02T03:04:05Z","shared":"yes","toread":"no","tags":"x y"},
{"href":"https:\\/\\/b.example\\/","description":"B","extended":"","time":"2012-01-02T03:04:06Z","tags":""}]`,
    entries: [
      { url: 'https://a.example/', title: 'A', notes: 'a note', tags: ['x', 'y'], at: '2012-01-02T03:04:05.000Z' },
      { url: 'https://b.example/', title: 'B', at: '2012-01-02T03:04:06.000Z' },
    ],
  },
  'Pinboard, XML': {
    list: `<?xml version="1.0" encoding="UTF-8"?><posts user="me"><post href="https://a.example/?a=1&amp;b=2" \
time="2012-01-02T03:04:05Z" description="A" extended="a note" tag="x y" hash="ab"/>
<post href="https://b.example/" time="2012-01-02T03:04:06Z" description="B" tag=""/></posts>`,
    entries: [
      {
        url: 'https://a.example/?a=1&b=2',
        title: 'A',
        notes: 'a note',
        tags: ['x', 'y'],
        at: '2012-01-02T03:04:05.000Z',
      },
      { url: 'https://b.example/', title: 'B', at: '2012-01-02T03:04:06.000Z' },
    ],
  },
  'GitHub, stars': {
    list: JSON.stringify([
      { name: 'a', url: 'https://api.example/a', html_url: 'https://a.example/', owner: { url: 'https://o.example/' } },
    ]),
    entries: [{ url: 'https://a.example/', title: 'a' }],
  },
  wallabag: {
    list: JSON.stringify([
      {
        is_archived: 0,
        is_starred: 1,
        tags: ['x'],
        id: 1,
        title: 'A',
        url: 'https://a.example/',
        content: '<p>{"not": "it"}</p>',
        created_at: '2017-01-02T03:04:05+0000',
        annotations: [{ text: 'not an entry' }],
        headers: [],
      },
    ]),
    entries: [{ url: 'https://a.example/', title: 'A', tags: ['x'], at: '2017-01-02T03:04:05.000Z' }],
  },
  Karakeep: {
    list: JSON.stringify({
      bookmarks: [
        {
          createdAt: 1_500_000_000,
          title: null,
          tags: ['x'],
          content: { type: 'link', url: 'https://a.example/' },
          note: 'a note',
        },
        { createdAt: 1_500_000_000, title: 'only text', tags: [], content: { type: 'text', text: 'b' }, note: null },
      ],
    }),
    entries: [
      { url: 'https://a.example/', tags: ['x'], notes: 'a note', at: '2017-07-14T02:40:00.000Z' },
      { title: 'only text', at: '2017-07-14T02:40:00.000Z' },
    ],
  },
  Linkwarden: {
    list: JSON.stringify(
      {
        name: 'me',
        username: 'me',
        collections: [
          {
            id: 1,
            name: 'Travel',
            links: [
              {
                name: 'A',
                type: 'url',
                description: 'a note',
                url: 'https://a.example/',
                tags: [{ id: 1, name: 'x' }],
                createdAt: '2024-01-02T03:04:05.000Z',
              },
              { name: 'B', url: 'https://b.example/', tags: [] },
            ],
          },
          { id: 2, name: 'Empty', links: [] },
        ],
      },
      null,
      2,
    ),
    entries: [
      { url: 'https://a.example/', title: 'A', notes: 'a note', tags: ['x'], at: '2024-01-02T03:04:05.000Z' },
      { url: 'https://b.example/', title: 'B', tags: ['Travel'] },
    ],
  },
  'Firefox, JSON': {
    list: JSON.stringify({
      guid: 'root________',
      title: '',
      children: [
        {
          title: 'menu',
          type: 'text/x-moz-place-container',
          children: [
            {
              title: 'A',
              type: 'text/x-moz-place',
              uri: 'https://a.example/',
              dateAdded: 1_500_000_000_000_000,
              tags: 'x,y',
            },
            { type: 'text/x-moz-place-separator' },
            { title: 'Sea', children: [{ type: 'text/x-moz-place', uri: 'https://b.example/' }] },
          ],
        },
      ],
    }),
    entries: [
      { url: 'https://a.example/', title: 'A', tags: ['x', 'y'], at: '2017-07-14T02:40:00.000Z' },
      { url: 'https://b.example/', tags: ['Sea'] },
    ],
  },
  'Chromium, JSON': {
    list: JSON.stringify(
      {
        checksum: 'ab',
        roots: {
          bookmark_bar: {
            children: [{ date_added: '13144473600000000', name: 'A', type: 'url', url: 'https://a.example/' }],
            name: 'Bookmarks bar',
            type: 'folder',
          },
          other: { children: [], name: 'Other bookmarks', type: 'folder' },
        },
        version: 1,
      },
      null,
      3,
    ),
    entries: [{ url: 'https://a.example/', title: 'A', at: '2017-07-14T02:40:00.000Z' }],
  },
  'JSON Feed': {
    list: JSON.stringify({
      version: 'https://jsonfeed.org/version/1.1',
      title: 'A feed',
      home_page_url: 'https://feed.example/',
      items: [
        {
          id: '1',
          url: 'https://a.example/',
          title: 'A',
          tags: ['x'],
          date_published: '2020-01-02T03:04:05Z',
          attachments: [{ url: 'https://a.example/a.mp3', mime_type: 'audio/mpeg' }],
          authors: [{ url: 'https://author.example/' }],
        },
      ],
    }),
    entries: [{ url: 'https://a.example/', title: 'A', tags: ['x'], at: '2020-01-02T03:04:05.000Z' }],
  },
  'a list of strings': {
    list: '[\n "https://a.example/",\n "https://b.example/"\n]',
    entries: [{ url: 'https://a.example/' }, { url: 'https://b.example/' }],
  },
  RSS: {
    list: `<?xml version="1.0"?><rss version="2.0"><channel><title>F</title><link>https://f.example/</link>
<item><title><![CDATA[A & <b>]]></title><link>https://a.example/</link><category>x</category><category>y</category>
<pubDate>Fri, 14 Jul 2017 02:40:00 GMT</pubDate></item>
<item><guid>https://b.example/</guid></item><item><guid isPermaLink="false">https://id.example/</guid></item>
</channel></rss>`,
    entries: [
      { url: 'https://a.example/', title: 'A & <b>', tags: ['x', 'y'], at: '2017-07-14T02:40:00.000Z' },
      { url: 'https://b.example/' },
      {},
    ],
  },
  'RSS behind a comment': {
    list: `<!-- see <a href="https://no.example/"> --><?xml-stylesheet href="<a >"?>
<rss><channel><image><url>https://no.example/i.png</url></image><item><link>https://a.example/</link></item></channel></rss>`,
    entries: [{ url: 'https://a.example/' }],
  },
  'a sitemap': {
    list: `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>
<loc>https://a.example/</loc><lastmod>2017-07-14</lastmod><image:image><image:loc>https://a.example/a.png</image:loc>
</image:image></url></urlset>`,
    entries: [{ url: 'https://a.example/' }],
  },
  'an index of sitemaps': {
    list: '<s:sitemapindex xmlns:s="x"><s:sitemap><s:loc>https://a.example/sitemap.xml</s:loc></s:sitemap></s:sitemapindex>',
    entries: [{ url: 'https://a.example/sitemap.xml' }],
  },
  'Atom, prefixed': {
    list: `<atom:feed xmlns:atom="http://www.w3.org/2005/Atom"><atom:entry><atom:title>A</atom:title>
<atom:link href="https://a.example/"/></atom:entry></atom:feed>`,
    entries: [{ url: 'https://a.example/', title: 'A' }],
  },
  Atom: {
    list: `<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><link href="https://f.example/"/>
<entry><title>A</title><link rel="enclosure" href="https://a.example/a.mp3"/><link href="https://a.example/"/>
<id>urn:1</id><updated>2018-01-01T00:00:00Z</updated><published>2017-07-14T02:40:00Z</published>
<author><name>N</name></author><category term="x" label="X"/></entry></feed>`,
    entries: [{ url: 'https://a.example/', title: 'A', tags: ['X'], at: '2017-07-14T02:40:00.000Z' }],
  },
  RDF: {
    list: `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><channel rdf:about="https://f.example/"/>
<item rdf:about="https://a.example/"><title>A</title><dc:date>2017-07-14T02:40:00Z</dc:date>
<dc:subject>x</dc:subject></item></rdf:RDF>`,
    entries: [{ url: 'https://a.example/', title: 'A', tags: ['x'], at: '2017-07-14T02:40:00.000Z' }],
  },
  OPML: {
    list: `<?xml version="1.0"?><opml version="2.0"><body><outline text="Tech">
<outline type="rss" text="A" xmlUrl="https://a.example/feed" htmlUrl="https://a.example/"/></outline>
<outline text="B" xmlUrl="https://b.example/feed"/></body></opml>`,
    entries: [
      { url: 'https://a.example/', title: 'A', tags: ['Tech'] },
      { url: 'https://b.example/feed', title: 'B' },
    ],
  },
  'this program': {
    list: `{"type":"Crawl","urls":["https://c.example/"],"tags":["t"]}
{"type":"Snapshot","url":"https://a.example/","title":"A","tags":["x"],"notes":"a note",\
"bookmarked_at":"2017-07-14T02:40:00.000Z","created_at":"2020-01-01T00:00:00.000Z"}
{"type":"ArchiveResult","snapshot_id":"1"}
`,
    entries: [
      { url: 'https://c.example/', tags: ['t'] },
      { url: 'https://a.example/', title: 'A', tags: ['x'], notes: 'a note', at: '2017-07-14T02:40:00.000Z' },
    ],
  },
}
