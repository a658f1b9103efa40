// What every verb prints, as golden files: `-u` writes them anew, and a diff shows what people will see change.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type VerbTree, verbTree } from '../../../src/cli/completion/tree.ts'
import { commandTree } from '../../../src/cli/program.ts'
import { collection07 } from '../../support/archivebox.ts'
import { makeArchive } from '../../support/golden/archive.ts'
import { Shell } from '../../support/golden/shell.ts'
import { Transcript } from '../../support/golden/transcript.ts'
import { type TestHome, useHomes } from '../../support/homes.ts'
import { noTerminal } from '../../support/on-terminal.ts'
import { ROOT } from '../../support/program.ts'
import { type Site, startSite } from '../../support/site.ts'

const FOLDER = join(ROOT, 'test', 'fixtures', 'golden')
/** Verbs without a golden file, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  'persona login': 'opens a browser',
  'persona test': 'looks at a page with a browser',
}

const homes = useHomes()
/** What was typed. */
const lines: string[] = []
let site: Site
let original: TestHome
const leaves = (tree: VerbTree, path: readonly string[] = []): string[][] =>
  tree.verbs.length === 0 ? [[...path]] : tree.verbs.flatMap((each) => leaves(each, [...path, each.name]))
const tree = verbTree(commandTree())

beforeAll(async () => {
  site = await startSite(9)
  original = await homes.original()
  const shell = new Shell(original, site.url)
  try {
    await makeArchive(original, shell)
  } finally {
    shell.close()
  }
})
afterAll(() => site.close())

/** Types some commands on a copy of the archive, and compares what came of them with the golden file of that name. */
async function golden(name: string, type: (transcript: Transcript, home: TestHome, shell: Shell) => Promise<void>) {
  const home = await homes.clone(original)
  const shell = new Shell(home, site.url)
  try {
    const transcript = new Transcript(home, shell)
    await type(transcript, home, shell)
    lines.push(...transcript.text.split('\n').filter((line) => line.startsWith('$ ')))
    await expect(transcript.text).toMatchFileSnapshot(join(FOLDER, `${name}.txt`))
  } finally {
    shell.close()
    await homes.discard(home)
  }
}

it('help', async () => {
  await golden('help', async (typed) => {
    const verbs = tree.verbs.flatMap(({ name, verbs }) => [name, ...verbs.map((each) => `${name} ${each.name}`)])
    await typed.once('help', '--help', 'crawl list --help', ...verbs.map((verb) => `help ${verb}`))
  })
})

it('status', async () => {
  await golden('status', async (typed) => {
    await typed.read('status', 'version')
    await typed.once('--version', '-v status')
    await typed.act('init', 'init --json', 'init -q', 'init --data-dir another', 'init --data-dir . --force')
  })
})

it('add', async () => {
  await golden('add', async (typed, _home, shell) => {
    collection07(join(shell.desk, 'old'))
    await typed.read(
      'add --dry-run $SITE/page-9.html',
      'add --dry-run --depth 2 --tag a,b --url-allowlist 127.0.0.1 $SITE/page-1.html not-a-url: $SITE/page-9.html',
      'add --dry-run --demo',
      'add --dry-run --from-archivebox old',
    )
    await typed.act(
      'add $SITE/page-9.html',
      'add --json --depth 1 $SITE/page-1.html',
      'add -q --index-only --label Later $SITE/page-9.html',
      'add --again --max-size 50mb -c TIMEOUT=5 $SITE/page-1.html',
      'printf "%s\\n" "$SITE/page-8.html" "no url" "ftp://127.0.0.1/x" >urls.txt; archivebox-ts add --file urls.txt',
      'echo "[read]($SITE/page-7.html)" | archivebox-ts add -',
      'add --from-archivebox old',
      'add --wait --index-only $SITE/page-2.html',
      'add --wait $SITE/page-1.html',
    )
  })
})

it('run', async () => {
  await golden('run', async (typed) => {
    await typed.act(
      ...['crawl-03', 'crawl-04', 'crawl-05'].map((id) => `crawl cancel -q ${id}`),
      'add --run --plugins html,title $SITE/page-9.html http://127.0.0.1:1/again',
      'add --run --json --again --plugins html,title $SITE/page-9.html',
      'add --run -q --again --plugins html,title $SITE/page-9.html',
      '$SITE/page-9.html',
      'run --exit-on-idle',
      'run --exit-on-idle --json',
      'run --exit-on-idle -q',
      'run --maintenance-only',
      'run --exit-on-idle --crawl-id crawl-01',
    )
  })
})

const LISTS = ['-o table', '--wide', '-o csv', '-o ids', '-n 1 --columns id,status']

it('crawl', async () => {
  await golden('crawl', async (typed) => {
    await typed.read('crawl list', 'crawl show crawl-01', 'crawl show crawl-02 crawl-03')
    await typed.once(...LISTS.map((options) => `crawl list ${options}`))
    await typed.once('crawl list --status paused -o ids', 'crawl list --outcome failed --tag news -o ids')
    await typed.once('crawl list --host nowhere.example', 'crawl list --before 7d', 'crawl delete --dry-run crawl-02')
    await typed.act(
      'crawl create --depth 1 --max-urls 3 $SITE/page-9.html',
      'crawl create --json --label L $SITE/page-9.html',
      'crawl create -q $SITE/page-9.html',
      'crawl pause crawl-04 crawl-03',
      'crawl pause crawl-04',
      'crawl resume crawl-04',
      'crawl resume -q crawl-03',
      'crawl list --status queued -n 1 | archivebox-ts crawl pause --json -',
      'crawl cancel crawl-03 crawl-01',
      'crawl cancel crawl-01',
      'crawl retry crawl-02',
      'crawl retry --failed crawl-01',
      'crawl retry --plugin title --json crawl-01',
      'crawl delete crawl-01',
      'crawl delete --yes crawl-01',
      'crawl delete --yes --json crawl-02',
      'crawl delete --yes -q crawl-03',
      'crawl show crawl-03',
      'crawl list -o table',
    )
  })
})

it('snapshot', async () => {
  await golden('snapshot', async (typed) => {
    await typed.read('snapshot list', 'snapshot show page--01', 'snapshot show page--03 page--04')
    await typed.once(...LISTS.map((options) => `snapshot list ${options}`))
    await typed.once(
      'snapshot list --crawl-id crawl-02 --outcome failed,partial -o ids',
      'snapshot list --url__icontains PAGE-2 --plugin title -o ids',
      'snapshot delete --dry-run page--01 page--04',
    )
    await typed.act(
      'snapshot create --crawl-id crawl-05 -c TIMEOUT=7 $SITE/page-9.html',
      'echo $SITE/page-1.html | archivebox-ts snapshot create --json --tag a,b',
      'snapshot create -q $SITE/page-1.html',
      'snapshot tag page--01 --add nice,fine --remove daily',
      'snapshot tag -q page--02 --remove news',
      'snapshot tag page--02',
      'snapshot pause page--06 page--08',
      'snapshot pause page--06',
      'snapshot resume page--06 page--08',
      'snapshot list --status queued -n 1 | archivebox-ts snapshot pause --json -',
      'snapshot cancel page--07',
      'snapshot cancel -q page--08',
      'snapshot cancel page--01',
      'snapshot retry --failed page--04 page--05',
      'snapshot retry --json page--01',
      'snapshot delete page--01',
      'snapshot delete --yes page--01',
      'snapshot list --outcome archived | archivebox-ts snapshot delete --yes --json -',
      'snapshot list -o table',
    )
  })
})

it('result', async () => {
  await golden('result', async (typed) => {
    await typed.read('result list', 'result show result01')
    await typed.once(...LISTS.map((options) => `result list ${options}`))
    await typed.once('result list --status failed --snapshot-id page--03 -o ids', 'result delete --dry-run result01')
    await typed.act(
      'result pause result01',
      'result resume result01',
      'result cancel result01',
      'result retry result01',
      'result list --status failed | archivebox-ts result retry -',
      'result retry --json --failed --plugin html result02',
      'result delete result01',
      'result delete --yes result01',
      'result delete --yes --json result02',
      'snapshot show --json page--01',
    )
  })
})

it('tag', async () => {
  await golden('tag', async (typed) => {
    await typed.read('tag list')
    await typed.act(
      'tag rename later soon',
      'tag rename nothing something',
      'tag rename news daily',
      'tag merge news daily',
      'tag merge nothing daily',
      'tag delete soon',
      'tag delete --yes soon',
      'tag delete --yes --json daily',
      'tag list',
    )
  })
})

it('schedule', async () => {
  await golden('schedule', async (typed) => {
    await typed.read('schedule list')
    await typed.act(
      'schedule add --every "0 4 * * 1" --timezone Europe/Berlin --depth 1 $SITE/page-2.html',
      'schedule add --json --every hour --label Hourly $SITE/page-3.html',
      'schedule add -q --every year $SITE/page-3.html',
      'schedule add --every "0 0 30 2 *" $SITE/page-3.html',
      'schedule pause sched-01',
      'schedule pause sched-01',
      'schedule list',
      'schedule resume sched-01',
      'schedule resume -q sched-01',
      'schedule run sched-01',
      'schedule run sched-01',
      'schedule remove sched-02',
      'schedule remove --json sched-03',
      'schedule list',
    )
  })
})

it('process', async () => {
  await golden('process', async (typed) => {
    await typed.read('process list', 'process tree', 'process list --all --type orchestrator')
    await typed.once('process list --all --worker-type crawl', 'process list --all --status lost')
    const hooks = 'archivebox-ts process list --all --type hook'
    await typed.once(`${hooks} | grep -v hook-host | head -n 1`)
    await typed.once('process show proc--01', 'process show proc--03', 'process logs --stderr proc--03')
    await typed.once("archivebox-ts process logs proc--01 | cut -d ' ' -f 2- | sort")
    await typed.act('process kill proc--01', 'process kill --force proc--03')
  })
})

it('db', async () => {
  await golden('db', async (typed) => {
    await typed.read('db url', 'db status', 'db migrate --dry-run')
    await typed.act('db migrate', 'db start', 'db stop', 'db stop --force', 'db upgrade')
    await typed.act('db move postgres://archive@db.example.org/archive')
  })
})

it('machine', async () => {
  await golden('machine', async (typed) => {
    await typed.read('machine list', 'machine show', 'machine show mach--01')
    await typed.act(
      'machine set TIMEOUT=20 DISK_FLOOR 7',
      'machine set TIMEOUT=20 DISK_FLOOR=7',
      'machine set --json TIMEOUT=21',
      'machine show',
      'machine unset TIMEOUT',
      'machine unset TIMEOUT',
      'machine unset -q DISK_FLOOR',
    )
  })
})

it('node', async () => {
  await golden('node', async (typed, home) => {
    await home.query(`
      with alpha as (
        update node set id = gen_random_uuid(), name = 'alpha', data_dir = '/srv/alpha', free_bytes = 25e9,
          about = null, heartbeat_at = now() - interval '1 hour' returning id
      ), crawls as (
        update crawl set home_node = (select id from alpha) where home_node is not null
      ), results as (
        update archive_result set node_id = (select id from alpha) where node_id is not null
      )
      update snapshot set home_node = (select id from alpha) where home_node is not null`)
    await home.query(`insert into node (id, data_dir, name, version, schema, state, heartbeat_at)
      values (gen_random_uuid(), '/srv/beta', 'beta', '0.0.1', 46, 'lost', now() - interval '1 day')`)
    await typed.once('node list', 'node list -o table', 'node show beta', 'status -q')
    await typed.act(
      'node drain alpha',
      'node drain alpha',
      'node drain --undo --json alpha',
      'node drain --undo alpha',
      'node forget beta',
      'node forget --yes beta',
      'node forget beta',
      'node adopt alpha',
    )
  })
})

it('config', async () => {
  await golden('config', async (typed) => {
    await typed.read(
      'config list',
      'config list --changed',
      'config list timeout wget',
      'config get TIMEOUT MANNERS',
      'config get --value TIMEOUT DISK_FLOOR',
    )
    await typed.act(
      'config set TIMEOUT 30',
      'config set TIMEOUT=31 DISK_FLOOR=500',
      'config set --json TIMEOUT=32',
      'config set TIMEOUT=soon TIMEUOT=3 DATA_DIR=/x',
      'config get TIMEUOT',
      'EDITOR=true archivebox-ts config edit',
      `EDITOR='sh -c "echo TIMEOUT = 5 >>\\$0"' archivebox-ts config edit`,
      `EDITOR='sh -c "echo TIMEOUT = 6 >\\$0"' archivebox-ts config edit`,
      'EDITOR=false archivebox-ts config edit',
      'config unset TIMEOUT',
      'config unset -q TIMEOUT',
      'cat "$DATA_DIR/archivebox.toml"',
    )
  })
})

it('service', async () => {
  await golden('service', async (typed) => {
    // The database of this archive is known from the environment only.
    await typed.once('service show', 'service install', 'service install --name ../up', 'service remove --user')
  })
})

it('server', async () => {
  await golden('server', async (typed) => {
    await typed.once('server link', 'server link --json', 'server --listen 0.0.0.0:80', 'server --listen here')
  })
})

it('persona', async () => {
  await golden('persona', async (typed, home) => {
    await typed.read('persona list', 'persona show Reader')
    await typed.act(
      'persona new Berlin ACCEPT_LANGUAGE=de-DE CHROME_TIMEZONE=Europe/Berlin',
      'persona new --json Paris',
      'persona new -q Rome',
      'persona new Reader',
      'persona new ../up TIMOUT=3',
      'persona set Berlin CHROME_RESOLUTION=1280,800',
      'persona set Nobody TIMEOUT=3',
      'EDITOR=true archivebox-ts persona edit Reader',
      `printf '127.0.0.1\\tFALSE\\t/\\tFALSE\\t0\\tsid\\tnew\\n' | archivebox-ts persona import Berlin -`,
      'persona import Berlin nowhere.txt',
      'persona delete Berlin',
      'persona delete --yes Berlin Paris',
      'persona delete --yes --json Rome',
      'persona list',
    )
    expect(existsSync(join(home.dataDir, 'personas', 'Reader'))).toBe(true)
  })
})

it('plugin', async () => {
  await golden('plugin', async (typed) => {
    await typed.read('plugin list', 'plugin list --lacking', 'plugin show html exit_1', 'plugin show nothing')
    await typed.act(
      'plugin new word_count',
      'plugin new links --lang py --json',
      'plugin new -q more --lang js',
      'plugin new html',
      'plugin new No',
      'plugin enable git exit_1',
      'plugin disable exit_1',
      'plugin disable --json exit_1',
      'plugin enable nothing',
      'plugin install html title',
      'plugin run title $SITE/page-1.html',
      'plugin run --json exit_1 $SITE/page-1.html',
    )
  })
})

it('doctor', async () => {
  // What it says of programs, disks and the like is about this machine.
  const ours = '"name":"(settings|data dir|personas|processes|plugins)"'
  await golden('doctor', async (typed, home) => {
    await typed.once(`archivebox-ts doctor | grep -E '${ours}'`, `archivebox-ts doctor -q --json | grep -E '${ours}'`)
    await typed.act(
      'echo "TIMEOUT = false" >>"$DATA_DIR/archivebox.toml"; chmod 755 "$DATA_DIR/personas/Reader"; ' +
        `archivebox-ts doctor | grep -E '${ours}'`,
      `archivebox-ts doctor --fix | grep -E '${ours}'`,
    )
    expect(existsSync(home.dataDir)).toBe(true)
  })
})

it('export', async () => {
  await golden('export', async (typed) => {
    await typed.read('export', 'export --format csv')
    await typed.once(
      ...['netscape', 'html', 'urls', 'wacz'].map((format) => `export --format ${format}`),
      'export --tag daily --format urls',
      'export --outcome failed --format csv',
      'export --host nowhere.example',
      'export | archivebox-ts add --dry-run -',
    )
  })
})

it('backup', async () => {
  await golden('backup', async (typed, home, shell) => {
    const other = await homes.original()
    shell.env['OTHER'] = other.databaseUrl
    await typed.act(
      'backup rows.zst',
      'backup --json rows.zst',
      'backup -q more.zst',
      'sort rows.zst.files',
      'restore rows.zst',
      'restore nowhere.zst',
      `DATABASE_URL=$OTHER archivebox-ts restore --data-dir elsewhere rows.zst`,
    )
    expect(home.dataDir).not.toBe(other.dataDir)
  })
})

it('verify', async () => {
  // Threads find problems in any order.
  const sorted = (command: string) => `archivebox-ts ${command} >found; code=$?; sort found; exit $code`
  await golden('verify', async (typed) => {
    await typed.read('verify', 'verify --quick')
    await typed.act(
      'cd "$DATA_DIR/archive/snapshots"/*/127.0.0.1_??*; set -- */title; echo mine >$1/mine.txt; rm $2/title.txt',
      sorted('verify'),
      sorted('verify --quick --json'),
      sorted('verify --mend -q'),
      sorted('verify --mend'),
    )
  })
})

it('completion', async () => {
  await golden('completion', async (typed) => {
    await typed.once('completion bash', 'completion zsh', 'completion fish', 'completion csh')
  })
})

it('bad input', async () => {
  await golden('bad-input', async (typed) => {
    await typed.once(
      'crwal list',
      'crawl lsit',
      'help crwal',
      'help crawl lsit',
      'crawl',
      'crawl list --statsu paused',
      'crawl list --status nonsense',
      'crawl list -n many',
      'crawl list --json -o csv',
      'crawl list --columns nonsense',
      'crawl list --after sometime',
      'crawl show',
      'crawl show nonsense',
      'crawl show 000000',
      'crawl show begin-', // all ids do
      'crawl show 01994f6e-0c1a-7c3e-9d55-0123456789ab',
      'snapshot show crawl-01',
      'snapshot pause',
      'archivebox-ts snapshot delete --yes </dev/null',
      'echo \'{"type":"Snapshot"}\' | archivebox-ts snapshot pause -',
      'echo "{" | archivebox-ts snapshot pause -',
      'crawl show --json crawl-01 | archivebox-ts snapshot pause -',
      'add',
      'add --depth 9 $SITE/',
      'add --depth 9 --plugins htlm --max-size much -c TIMEUOT=3 $SITE/',
      'add not-a-url:',
      'add --file nowhere.txt',
      'add --persona Nobody $SITE/',
      'add --parser nonsense $SITE/',
      'run --crawl-id 000000',
      'run --concurrency none',
      'schedule add $SITE/',
      'schedule add --every sometimes $SITE/',
      'schedule pause 000000',
      'process show nonsense',
      'process show 999999999',
      'process kill nonsense',
      'config get',
      'machine show 000000',
      'node show nowhere',
      'node forget nowhere',
      'node adopt nowhere',
      'process list --all --all-nodes',
      'export --format nonsense',
      'status --data-dir nowhere',
      'status --wait-db never',
      'TIMEOUT=soon archivebox-ts status',
      'DATABASE_URL=nonsense archivebox-ts status',
      'DATABASE_URL=postgres://127.0.0.1:1/none archivebox-ts --wait-db 0 status',
      'status --json extra',
    )
  })
})

describe.skipIf(noTerminal)(`on a terminal ${noTerminal || ''}`, () => {
  it('is read', async () => {
    await golden('terminal', async (typed) => {
      await typed.look(
        'status',
        ...['crawl', 'snapshot', 'result', 'tag', 'schedule', 'persona', 'plugin'].map((noun) => `${noun} list`),
        ...['crawl show crawl-01', 'crawl show crawl-02', 'snapshot show page--01', 'snapshot show page--03'],
        ...['result show result01', 'persona show Reader', 'plugin show html', 'machine show', 'db status'],
        ...['config list timeout', 'config get TIMEOUT', 'verify', 'export'],
        ...['crawl list --wide', 'crawl list --json', 'snapshot list -o csv', 'snapshot delete --dry-run page--01'],
        ...['add --dry-run $SITE/page-9.html', 'db migrate --dry-run', 'crawl list -q', 'add', 'snapshot pause'],
      )
      await typed.actInSight(
        'process list',
        'process tree',
        'add $SITE/page-9.html',
        'crawl create $SITE/page-9.html',
        'snapshot create $SITE/page-9.html',
        'crawl pause crawl-04',
        'crawl pause crawl-04',
        'crawl resume crawl-04',
        'snapshot tag page--01 --add nice',
        'snapshot cancel page--06',
        'snapshot retry page--05',
        'result retry result01',
        'tag rename later soon',
        'schedule add --every day $SITE/page-9.html',
        'schedule pause sched-01',
        'schedule list',
        'schedule run sched-02',
        'config set TIMEOUT=30',
        'persona new Berlin',
        'plugin disable exit_1',
        'plugin new word_count',
        'backup rows.zst',
        'crawl delete crawl-01',
        'crawl delete --yes crawl-01',
        'snapshot delete --yes page--03',
      )
    })
  })
})

it('every verb is in a golden file', () => {
  const all = leaves(tree).map((path) => path.join(' '))
  const lacking = all.filter((verb) => !lines.some((line) => line.includes(`archivebox-ts ${verb}`)))
  expect(lacking.sort()).toEqual(Object.keys(WITHOUT).sort())
})
