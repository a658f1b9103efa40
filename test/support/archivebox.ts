import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const { DatabaseSync } = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite')

/** Writes files, and creates the folders above them. */
export function putFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** The relevant tables of 0.7; Django writes dates in UTC without a time zone. */
const TABLES_07 = `
  create table core_snapshot (id char(32) primary key, url text, timestamp varchar(32), title varchar(512),
    added datetime, updated datetime);
  create table core_archiveresult (id integer primary key, cmd text, pwd text, cmd_version text, status varchar(16),
    output text, start_ts datetime, end_ts datetime, extractor varchar(32), snapshot_id char(32), uuid char(32));
  create table core_tag (id integer primary key, name varchar(100), slug varchar(100));
  create table core_snapshot_tags (id integer primary key, snapshot_id char(32), tag_id integer);`

/** Those of 0.9.73. */
const TABLES_09 = `
  create table auth_user (id integer primary key, username varchar(150));
  create table crawls_crawl (id char(32) primary key, urls text, created_by_id integer, notes text,
    created_at datetime);
  create table core_snapshot (id char(32) primary key, url text, timestamp varchar(32), title varchar(512),
    bookmarked_at datetime, created_at datetime, downloaded_at datetime, crawl_id char(32), depth smallint, notes text,
    status varchar(15), fs_version varchar(10));
  create table core_archiveresult (id char(32) primary key, status varchar(16), start_ts datetime, end_ts datetime,
    snapshot_id char(32), hook_name varchar(255), output_str text, plugin varchar(32));
  create table core_tag (id integer primary key, name varchar(100));
  create table core_snapshot_tags (id integer primary key, snapshot_id char(32), tag_id integer);`

/**
 * Makes a collection of ArchiveBox 0.7: one page with files of several extractors, one of the same page at another
 * time, one that is a local file, one that was never archived.
 */
export function collection07(folder: string): void {
  const db = database(folder, TABLES_07)
  db.exec(`
    insert into core_snapshot values
      ('${'a'.repeat(32)}', 'https://a.example/', '1500000000.0', 'A', '2017-07-14 02:40:00', '2020-01-02 03:04:05.678'),
      ('${'b'.repeat(32)}', 'https://a.example/#2018', '1530000000.0', 'A later', '2018-06-26 08:00:00', null),
      ('${'c'.repeat(32)}', 'file:///etc/hosts', '1530000001.0', null, '2018-06-26 08:00:01', null),
      ('${'d'.repeat(32)}', 'https://d.example/', '1530000002.0', 'D', '2018-06-26 08:00:02', null);
    insert into core_tag values (1, 'sea', 'sea');
    insert into core_snapshot_tags values (1, '${'a'.repeat(32)}', 1), (2, '${'d'.repeat(32)}', 1);
    insert into core_archiveresult values
      (1, '[]', '', '', 'failed', 'no answer', '2020-01-02 03:04:00', '2020-01-02 03:04:01', 'wget',
        '${'a'.repeat(32)}', ''),
      (2, '[]', '', '', 'succeeded', 'a.example/index.html', '2020-01-02 03:04:02', '2020-01-02 03:04:03', 'wget',
        '${'a'.repeat(32)}', ''),
      (3, '[]', '', '', 'succeeded', 'singlefile.html', '2020-01-02 03:04:04', null, 'singlefile',
        '${'a'.repeat(32)}', '')`)
  db.close()
  const [first, later] = ['archive/1500000000.0', 'archive/1530000000.0']
  putFiles(folder, {
    [`${first}/index.json`]: '{}',
    [`${first}/index.html`]: 'their own',
    [`${first}/a.example/index.html`]: 'by wget',
    [`${first}/singlefile.html`]: 'one file',
    [`${first}/warc/1.warc.gz`]: 'warc',
    [`${later}/output.pdf`]: 'pdf',
    'archive/1530000001.0/output.pdf': 'of a local file',
    'archive/1530000002.0/index.json': '{}',
  })
  symlinkSync('singlefile.html', join(folder, first, 'a.example', 'link.html'))
}

/** Changes the rows or the tables of a collection. */
export function changeIndex(folder: string, ...statements: readonly string[]): void {
  const db = new DatabaseSync(join(folder, 'index.sqlite3'))
  for (const statement of statements) db.exec(statement)
  db.close()
}

/** Makes a collection of ArchiveBox 0.9: a page of a user's crawl. */
export function collection09(folder: string): void {
  const db = database(folder, TABLES_09)
  const id = '06b0260718cb7b17800001e634157c71'
  db.exec(`
    insert into auth_user values (1, 'system');
    insert into crawls_crawl values ('06b02604c23775af8000f0075b07f940', 'https://n.example:8443/', 1, '', null);
    insert into core_snapshot values ('${id}', 'https://n.example:8443/', '1795317873.549545', 'N',
      '2024-05-06 07:08:09.549545', '2024-05-06 07:08:09.549545', '2024-05-06 07:09:10',
      '06b02604c23775af8000f0075b07f940', 1, 'a note', 'sealed', '0.9.4');
    insert into core_archiveresult values ('1', 'succeeded', '2024-05-06 07:09:00', '2024-05-06 07:09:01', '${id}',
      'on_Snapshot__53_dom.js', 'output.html', 'dom'),
      ('2', 'failed', '2024-05-06 07:09:00', '2024-05-06 07:09:01', '${id}', 'on_Snapshot__52_pdf.js', 'no browser',
        'pdf')`)
  db.close()
  const place = `archive/users/system/snapshots/20240506/n.example_8443/${id}`
  putFiles(folder, { [`${place}/index.jsonl`]: '{}', [`${place}/dom/output.html`]: 'dom' })
}

function database(folder: string, tables: string) {
  mkdirSync(join(folder, 'archive'), { recursive: true })
  const db = new DatabaseSync(join(folder, 'index.sqlite3'))
  db.exec(`pragma journal_mode = wal; ${tables}`)
  return db
}
