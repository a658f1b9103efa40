// The script of the pages on disk. They are opened as files: it can load only scripts, and everything that it shows is
// untrusted text, which becomes text nodes and never markup.
import type { ListData } from '../list-data.ts'
import { minuteOf } from '../page-row.ts'
import { takeArrivals } from './arrivals.ts'
import { find } from './dom.ts'
import { PageList } from './page-list.ts'
import { startSnapshot, watchPictures } from './snapshot.ts'

takeArrivals()
watchPictures()
document.addEventListener('DOMContentLoaded', () => {
  for (const time of document.querySelectorAll('time')) time.textContent = minuteOf(new Date(time.dateTime))
  const data = find('#data')
  if (data) new PageList(JSON.parse(data.textContent ?? '') as ListData).start()
  else startSnapshot()
})
