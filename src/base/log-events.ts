/** What an event is, and what its line has beside what every line has. */
interface About {
  readonly means: string
  readonly fields: readonly string[]
}

function event<const Field extends string>(means: string, ...fields: readonly Field[]) {
  return { means, fields } satisfies About
}

/** The events that lines of the log have names for. A name stays what it is; the words of a line may change. */
export const LOG_EVENTS = {
  'leader.began': event('A runner leads from now on.', 'term', 'claims_taken_over'),
  'leader.skipped_terms': event('The database was restored: it does not know terms that were led.', 'unknown'),
  'leader.hands_over': event('A newer runner takes over: this one drains.'),
  'leader.lost': event('A runner cannot know that it leads: it ends its work, and goes through the gate again.', 'why'),
  'runner.waits': event('A runner waits for another one; the message says why.', 'for_pid'),
  'runner.resumes': event('That one is out of the way.', 'for_pid'),
  'runner.takes_over': event('A runner asks an older one to hand over.', 'from_pid'),
  'runner.kills_older': event('The older one did not hand over in time.', 'pids'),
  'runner.superseded': event('A newer runner came before this one led.', 'by_pid'),
  'runner.drains': event('A runner was told to stop: what runs may finish.', 'cause'),
  'runner.kills': event('It was told to stop at once: what runs is killed.', 'cause'),
  'runner.ended': event('A runner is over.', 'why', 'cause'),
  'runner.defect': event('A defect of the program: it exits at once.'),
  'guardian.replaced': event('The process that outlives a killed runner ended; another one is started.'),
  'worker.died': event('A worker died; what it worked on is due again.', 'kind', 'pid', 'claims_due'),
  'job.failed': event('A job beside the work failed; it is tried again.', 'job'),
  'database.away': event('The database does not answer; work pauses.'),
  'database.back': event('It answers again.', 'seconds'),
  'database.started': event('The runner has started the embedded server again.'),
  'node.lost': event('Another data dir on the database is silent: its open pages are anybody’s now.', 'node'),
  'schema.newer': event(
    'A newer program has changed the database, where another node runs; this one goes on.',
    'schema',
  ),
  'node.drains': event('Somebody drains this node: it begins nothing new.'),
  'node.works': event('It works again.'),
  'node.forgotten': event('This data dir was a node that was forgotten: it is a new one.', 'node'),
  'disk.full': event('There is too little space to start pages.'),
  'disk.free': event('There is space again.'),
  'page.ended': event('A page ended.', 'url', 'title', 'outcome', 'cause'),
  'crawl.sealed': event('A crawl is over.'),
  'schedule.added': event('A schedule was due, and has added a crawl.', 'schedule_id'),
  'backup.made': event('A backup was made on schedule.', 'file'),
  'backup.failed': event('It failed; the next attempt comes after an hour.', 'why'),
  'metrics.listen': event('The metrics are there.', 'url'),
  'machine.lacks': event('Something is wrong with this machine; the message says what to do.', 'check'),
  note: event('Anything else: for people, in words that may change.'),
} as const satisfies Readonly<Record<string, About>>

export type LogEvent = keyof typeof LOG_EVENTS
type FieldsOf<E extends LogEvent> = (typeof LOG_EVENTS)[E]['fields'][number]

/** An event with its fields. */
export type Happened = {
  [E in LogEvent]: { readonly event: E } & { readonly [F in FieldsOf<E>]: string | number | null }
}[LogEvent]
