// The one script of the pages on disk. They are opened as files: it can load nothing but scripts, and everything that
// it
// shows is text of strangers, which becomes text nodes and never markup.
;(() => {
  const SLICE_MS = 8
  /** While a search goes on, what it has found is drawn so often. */
  const SHOW_MS = 120
  const RELOAD_MS = 2_000
  /** A crawl whose last pages are not in the index yet is looked at again for so long. */
  const SETTLE_MS = 60_000
  /** A crawl is written every 2 s while it is worked on and pages end; one page may take minutes. */
  const QUIET_MS = 90_000
  /** For so long how long it takes still is what was written. */
  const ESTIMATE_MS = 10_000
  /** While chunks arrive the list is put together so often. */
  const SETTLE_LIST_MS = 150
  /** Browsers draw nothing that is higher. */
  const HIGHEST = 15_000_000
  /** On paper there is no sight to follow; nobody prints more rows than this. */
  const PRINTED = 500
  const THUMBNAIL = /\/thumbnail\.\w+$/
  const OUTCOMES = { a: 'archived', p: 'partial', f: 'failed' }

  const find = (selector) => document.querySelector(selector)
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value))
    }
    element.append(...children.filter((child) => child !== undefined))
    return element
  }
  const toHref = (path) => path.split('/').map(encodeURIComponent).join('/')
  const isVisible = (text) => /[^\p{C}\p{Z}\p{M}\u2800\u3164]/u.test(text)
  const count = (number) => number.toLocaleString('en')
  const two = (number) => String(number).padStart(2, '0')
  const dayOf = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const minuteOf = (date) => `${dayOf(date)} ${two(date.getHours())}:${two(date.getMinutes())}`
  const sizeOf = (bytes) => {
    const power = bytes > 0 ? Math.min(Math.floor(Math.log10(bytes) / 3), 4) : 0
    return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]}`
  }
  const hostOf = (url) => /^[a-z0-9+.-]+:\/\/(?:[^/?#@]*@)?([^/?#]+)/i.exec(url)?.[1] ?? ''

  /** The chunks that have arrived: they may come before the page itself is complete. */
  const arrived = new Map()
  let onChunk = () => {}
  let known = []
  window.pages = (chunk, text) => {
    arrived.set(chunk, text)
    onChunk(chunk)
  }
  window.copies = (list) => {
    known = list
  }

  const load = (src, then) => {
    const script = make('script', { src })
    script.onload = script.onerror = () => {
      script.remove()
      then()
    }
    document.head.append(script)
  }

  // --- the list of pages -------------------------------------------------------------------------------------------

  /** One page: what filters ask at once, and the rest of its line, which is read when it is shown, or searched. */
  class Entry {
    constructor(line) {
      const [number, seconds, outcome, crawl, tags] = line.split('\t', 5)
      this.number = Number(number)
      this.seconds = Number.parseInt(seconds, 36)
      this.outcome = OUTCOMES[outcome] ?? ''
      this.crawl = crawl
      this.tags = tags === '' ? [] : tags.split('\u001f')
      this.line = line
      this.haystack = undefined
      this.place = undefined
    }

    get fields() {
      const [, , , , , status, cause, path, icon, picture, size, url, title, text] = this.line.split('\t')
      return { status, cause, path, icon, picture, size: Number(size), url, title, text }
    }

    get cause() {
      return this.outcome === 'archived' ? '' : this.fields.cause
    }

    get host() {
      this.place ??= hostOf(this.fields.url)
      return this.place
    }

    /** What is searched, in lower case. */
    get words() {
      if (this.haystack === undefined) {
        const { url, title, text } = this.fields
        this.haystack = `${title} ${url} ${this.tags.join(' ')} ${text}`.toLowerCase()
      }
      return this.haystack
    }
  }

  class PageList {
    constructor(data) {
      this.data = data
      this.list = find('#list')
      this.form = find('#controls')
      this.found = find('#found')
      /** Entries by chunk; those of the latest chunk come first. */
      this.chunks = new Map()
      this.results = []
      /** Lines that are in sight: their pictures stay while the list is scrolled. */
      this.drawn = new Map()
      this.searched = undefined
      this.round = 0
      this.touchedAt = 0
      this.frame = 0
    }

    start() {
      this.form.hidden = false
      this.restore()
      const { host, tag, cause, from, to } = this.filters
      const isNarrowed = host + tag + cause !== '' || from !== -Infinity || to !== Infinity
      find('.filters').open = isNarrowed || matchMedia('(min-width: 40.01rem)').matches
      onChunk = (chunk) => this.add(chunk)
      for (const chunk of arrived.keys()) this.add(chunk)
      this.form.addEventListener('input', () => this.changed())
      this.form.addEventListener('submit', (event) => event.preventDefault())
      addEventListener('scroll', () => this.paintSoon(), { passive: true })
      addEventListener('resize', () => this.paintSoon())
      addEventListener('beforeprint', () => this.print())
      addEventListener('afterprint', () => this.search())
      addEventListener('keydown', (event) => {
        if (
          event.key !== '/' ||
          event.ctrlKey ||
          event.metaKey ||
          /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)
        )
          return
        event.preventDefault()
        this.form.elements.q.focus()
      })
      this.search()
      const missing = this.data.chunks.filter((chunk) => !arrived.has(chunk))
      // Two at a time: the latest come first, and the page can be used meanwhile.
      let open = 0
      const next = () => {
        while (open < 2 && missing.length > 0) {
          open += 1
          load(`${this.data.top}/archive/index/${missing.shift()}.js`, () => {
            open -= 1
            next()
          })
        }
        if (open === 0) this.complete()
      }
      next()
    }

    add(chunk) {
      const entries = []
      for (const line of arrived.get(chunk).split('\n')) {
        if (this.data.crawl !== undefined && !line.includes(this.data.crawl)) continue
        const entry = new Entry(line)
        if (this.data.crawl === undefined || entry.crawl === this.data.crawl) entries.push(entry)
      }
      arrived.set(chunk, '')
      this.chunks.set(chunk, entries.reverse())
      this.all = undefined
      this.searched = undefined
      // The latest are shown at once, the others as they come.
      if (this.chunks.size === 1) this.search()
      this.soon ??= setTimeout(() => {
        this.soon = undefined
        this.search()
        this.fillChoices()
      }, SETTLE_LIST_MS)
    }

    get entries() {
      this.all ??= [...this.chunks].sort(([a], [b]) => b - a).flatMap(([, entries]) => entries)
      return this.all
    }

    /** All chunks are here. */
    complete() {
      this.isComplete = true
      this.search()
      this.fillChoices()
      // So that the first letter finds everything in lower case already.
      const entries = this.entries
      let at = 0
      const prepare = (idle) => {
        while (at < entries.length && idle.timeRemaining() > 2) void entries[at++].words
        if (at < entries.length) soon(prepare)
      }
      const soon =
        window.requestIdleCallback ?? ((work) => setTimeout(() => work({ timeRemaining: () => SLICE_MS }), 30))
      soon(prepare)
      if (this.data.live !== undefined) this.reloadLater()
    }

    /** A crawl that is not finished, or whose last pages are not in the index yet, comes again. */
    reloadLater() {
      if (this.data.live && Date.now() - this.data.writtenAt > QUIET_MS) {
        find('#quiet').hidden = false
        find('.head .status').textContent = 'Unfinished'
      }
      if (Date.now() - this.data.writtenAt > ESTIMATE_MS) find('#left')?.remove()
      const isNew = Date.now() - this.data.writtenAt < SETTLE_MS
      if (!this.data.live && !(isNew && this.entries.length < this.data.total)) return
      setTimeout(() => {
        const isInUse = performance.now() - this.touchedAt < RELOAD_MS || String(getSelection()) !== ''
        if (document.hidden || isInUse) return this.reloadLater()
        const { q } = this.form.elements
        const caret = document.activeElement === q ? q.selectionStart : undefined
        try {
          sessionStorage.setItem(location.pathname, JSON.stringify({ y: scrollY, caret }))
        } catch {
          // Without it the page begins at its top.
        }
        location.reload()
      }, RELOAD_MS)
    }

    restore() {
      const asked = new URLSearchParams(location.hash.slice(1))
      for (const element of this.form.elements) {
        const value = asked.get(element.name)
        if (value === null || element.name === '') continue
        if (element.type === 'radio') element.checked = element.value === value
        else if (element.type === 'checkbox') element.checked = true
        else if (element.tagName === 'SELECT') element.append(new Option(value, value, true, true))
        else element.value = value
      }
      try {
        const before = JSON.parse(sessionStorage.getItem(location.pathname) ?? '{}')
        sessionStorage.removeItem(location.pathname)
        if (before.caret !== undefined) {
          this.form.elements.q.focus({ preventScroll: true })
          this.form.elements.q.setSelectionRange(before.caret, before.caret)
        }
        this.scrollTo = before.y
      } catch {
        // As above.
      }
    }

    get filters() {
      const { q, outcome, host, tag, cause, from, to, thumbs } = this.form.elements
      return {
        terms: q.value.toLowerCase().split(/\s+/).filter(Boolean),
        outcome: outcome.value,
        host: host.value,
        tag: tag.value,
        cause: cause.value,
        from: from.value === '' ? -Infinity : new Date(`${from.value}T00:00`).getTime() / 1000,
        to: to.value === '' ? Infinity : new Date(`${to.value}T23:59:59`).getTime() / 1000,
        thumbs: thumbs.checked,
      }
    }

    changed() {
      this.touchedAt = performance.now()
      const asked = new URLSearchParams()
      for (const [name, value] of new FormData(this.form)) if (value !== '') asked.set(name, value)
      try {
        history.replaceState(null, '', `#${asked}`)
      } catch {
        // Not everywhere for files.
      }
      scrollTo({ top: Math.min(scrollY, this.list.offsetTop) })
      this.search()
    }

    /** Looks through all entries, a slice at a time: what is found first is shown first, and a next letter ends it. */
    search() {
      const filters = this.filters
      const key = JSON.stringify({ ...filters, outcome: '', thumbs: '' })
      const round = ++this.round
      const isWithin =
        this.searched?.terms !== undefined &&
        this.searched.rest === restOf(filters) &&
        filters.terms.join(' ').startsWith(this.searched.terms)
      const source = key === this.searched?.key ? undefined : isWithin ? this.searched.found : this.entries
      const counts = { '': 0, archived: 0, partial: 0, failed: 0 }
      const found = []
      let at = 0
      let nextShow = 0
      const slice = () => {
        if (round !== this.round) return
        const until = performance.now() + SLICE_MS
        do {
          for (const end = Math.min(at + 256, source.length); at < end; at += 1) {
            const entry = source[at]
            if (!matches(entry, filters)) continue
            found.push(entry)
            counts[''] += 1
            if (entry.outcome !== '') counts[entry.outcome] += 1
          }
        } while (at < source.length && performance.now() < until)
        const isOver = at >= source.length
        if (isOver) this.searched = { key, found, counts, terms: filters.terms.join(' '), rest: restOf(filters) }
        if (isOver || performance.now() > nextShow) {
          this.show(found, counts, filters, isOver)
          nextShow = performance.now() + SHOW_MS
        }
        if (!isOver) setTimeout(slice)
      }
      if (source) slice()
      else this.show(this.searched.found, this.searched.counts, filters, true)
    }

    show(found, counts, filters, isOver) {
      this.results = filters.outcome === '' ? found : found.filter(({ outcome }) => outcome === filters.outcome)
      this.list.classList.toggle('thumbs', filters.thumbs)
      for (const label of this.form.querySelectorAll('.outcomes label')) {
        const { value } = label.querySelector('input')
        label.querySelector('b').textContent = count(counts[value])
      }
      const { total } = this.data
      // What was done last before somebody pulled the plug is listed when the crawl goes on.
      const waits = isOver && this.isComplete && this.entries.length >= total ? '' : ' so far'
      const isAll = this.results.length === this.entries.length
      this.found.textContent =
        this.entries.length === 0
          ? total === 0
            ? 'No page is done yet.'
            : 'The list comes in a moment …'
          : isAll
            ? `${count(this.results.length)}${waits && ` of ${count(total)}`} page${total === 1 ? '' : 's'}${waits}`
            : `${count(this.results.length)} of ${count(Math.max(total, this.entries.length))} pages${waits}`
      this.terms = filters.terms
      this.drawn = new Map()
      this.paint()
      if (this.scrollTo !== undefined && this.isComplete) {
        scrollTo(0, this.scrollTo)
        this.scrollTo = undefined
        this.paint()
      }
    }

    /** The values that filters offer, those of most pages first. */
    fillChoices() {
      const tallies = { host: new Map(), tag: new Map(), cause: new Map() }
      const fatal = new Set()
      const add = (tally, value) => value !== '' && tally.set(value, (tally.get(value) ?? 0) + 1)
      for (const entry of this.entries) {
        add(tallies.host, entry.host)
        for (const tag of entry.tags) add(tallies.tag, tag)
        add(tallies.cause, entry.cause)
        if (entry.outcome === 'failed') fatal.add(entry.cause)
      }
      for (const [name, tally] of Object.entries(tallies)) {
        const select = this.form.elements[name]
        const chosen = select.value
        const values = [...tally].sort(([, a], [, b]) => b - a).slice(0, 500)
        if (chosen !== '' && !values.some(([value]) => value === chosen)) values.push([chosen, 0])
        select.replaceChildren(
          new Option('any', ''),
          ...values.map(([value, pages]) => new Option(`${value} (${count(pages)})`, value)),
        )
        select.value = chosen
        select.parentElement.hidden = values.length < 2 && chosen === '' && name !== 'tag' ? true : values.length === 0
      }
      if (this.data.crawl !== undefined)
        this.showCauses(
          [...tallies.cause].sort(([, a], [, b]) => b - a),
          fatal,
        )
    }

    /**
     * What failed, and why: a click shows the pages.
     * @param fatal causes that left no copy of some page
     */
    showCauses(causes, fatal) {
      const box = find('#causes')
      box.hidden = causes.length === 0
      const button = ([cause, pages]) => {
        const kind = fatal.has(cause) ? 'failed' : 'partial'
        const one = make('button', { type: 'button', class: kind }, make('b', {}, count(pages)), make('bdi', {}, cause))
        one.addEventListener('click', () => {
          this.form.elements.cause.value = this.form.elements.cause.value === cause ? '' : cause
          this.changed()
        })
        return one
      }
      const LISTED = 6
      const rest = causes.slice(LISTED)
      box.replaceChildren(
        make('h2', {}, 'What failed'),
        ...causes.slice(0, LISTED).map(button),
        ...(rest.length === 0
          ? []
          : [
              make(
                'details',
                {},
                make('summary', {}, `${count(rest.length)} more cause${rest.length === 1 ? '' : 's'}`),
                ...rest.slice(0, 200).map(button),
              ),
            ]),
      )
    }

    paintSoon() {
      this.touchedAt = performance.now()
      if (this.frame === 0) this.frame = requestAnimationFrame(() => this.paint())
    }

    /** Draws what goes on paper, and says there when that is not all. */
    print() {
      this.paint(PRINTED)
      const { length } = this.list.children
      if (length < this.results.length) this.found.append(` · the first ${count(length)} are printed`)
    }

    /**
     * Draws the rows that are in sight, and a few beside them.
     * @param printed on paper, so many from the first on
     */
    paint(printed = 0) {
      this.frame = 0
      const { list, results } = this
      const isGrid = list.classList.contains('thumbs')
      const style = getComputedStyle(list)
      const height = Number.parseFloat(style.getPropertyValue('--row'))
      const columns = isGrid
        ? Math.max(1, Math.floor(list.clientWidth / Number.parseFloat(style.getPropertyValue('--column'))))
        : 1
      const rows = Math.min(Math.ceil(results.length / columns), Math.floor(HIGHEST / height))
      list.style.setProperty('--height', `${rows * height}px`)
      const top = list.getBoundingClientRect().top
      const first = printed > 0 ? 0 : Math.max(0, Math.floor(-top / height) - 3)
      const last = Math.min(rows, printed || Math.ceil((innerHeight - top) / height) + 3)
      const shown = []
      const drawn = new Map()
      const width = 100 / columns
      for (let at = first * columns; at < Math.min(last * columns, results.length); at += 1) {
        const entry = results[at]
        const item = this.drawn.get(entry) ?? (isGrid ? this.card(entry) : this.row(entry))
        drawn.set(entry, item)
        item.style.setProperty('--top', `${Math.floor(at / columns) * height}px`)
        item.style.setProperty('--left', `${(at % columns) * width}%`)
        item.style.setProperty('--width', `${width}%`)
        item.setAttribute('aria-setsize', results.length)
        item.setAttribute('aria-posinset', at + 1)
        shown.push(item)
      }
      this.drawn = drawn
      // A link that has the focus keeps it.
      const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute('href') : undefined
      list.replaceChildren(...shown)
      if (focused !== undefined)
        [...list.querySelectorAll('a')]
          .find((link) => link.getAttribute('href') === focused)
          ?.focus({ preventScroll: true })
    }

    row(entry) {
      const { status, cause, path, icon, picture, size, url, title, text } = entry.fields
      const when = new Date(entry.seconds * 1000)
      const link = make(
        'a',
        { href: `${this.data.top}/${toHref(path)}/index.html` },
        make('bdi', {}, this.marked(isVisible(title) ? title : url)),
      )
      const answer = status !== '' && status !== '200' && cause !== `HTTP ${status}` ? `HTTP ${status}` : ''
      const note = entry.outcome === 'archived' || cause === '' ? undefined : make('bdi', { class: 'why' }, cause)
      return make(
        'li',
        { class: entry.outcome },
        this.tile(path, picture, this.icon(path, icon, url)),
        make(
          'div',
          { class: 'main' },
          make('p', { class: 'title' }, link),
          // It stands in place of a title already.
          isVisible(title) ? make('p', { class: 'url' }, make('bdi', {}, this.marked(url))) : undefined,
          make('p', { class: 'text' }, note ?? make('bdi', {}, this.marked(around(text, this.terms)))),
        ),
        make(
          'div',
          { class: 'facts' },
          badge(entry.outcome, cause),
          make('time', { datetime: when.toISOString(), title: minuteOf(when) }, dayOf(when)),
          make('span', {}, [size > 0 && sizeOf(size), answer].filter(Boolean).join(' · ')),
        ),
        make(
          'p',
          { class: 'tags' },
          ...entry.tags.slice(0, 4).map((tag) => make('span', { class: 'chip' }, make('bdi', {}, tag))),
        ),
      )
    }

    card(entry) {
      const { path, icon, picture, url, title, text, cause } = entry.fields
      const base = `${this.data.top}/${toHref(path)}`
      const seen =
        picture === ''
          ? make('span', { class: 'page' }, make('bdi', {}, text === '' ? cause || hostOf(url) : text))
          : make('img', { src: `${base}/${toHref(picture)}`, alt: '', loading: 'lazy' })
      return make(
        'li',
        { class: entry.outcome },
        make(
          'a',
          { href: `${base}/index.html` },
          seen,
          make(
            'span',
            { class: 'caption' },
            this.icon(path, icon, url),
            // Its host is below.
            make('bdi', {}, isVisible(title) ? title : url.replace(/^\w+:\/\/[^/]*(?=\/.)/, '')),
          ),
          make('span', { class: 'place' }, make('bdi', {}, hostOf(url)), badge(entry.outcome, cause)),
        ),
      )
    }

    /** How the page looked; its icon where there is no small picture: of whole ones a few dozen take gigabytes. */
    tile(path, picture, icon) {
      if (!THUMBNAIL.test(picture)) return make('span', { class: 'tile' }, icon)
      const image = make('img', { src: `${this.data.top}/${toHref(path)}/${toHref(picture)}`, alt: '' })
      image.addEventListener('error', () => image.replaceWith(icon))
      return make('span', { class: 'tile' }, image)
    }

    icon(path, icon, url) {
      const letter = make(
        'span',
        { class: 'icon', 'aria-hidden': 'true' },
        (hostOf(url).replace(/^www\./, '')[0] ?? '?').toUpperCase(),
      )
      if (icon === '') return letter
      const image = make('img', {
        class: 'icon',
        src: `${this.data.top}/${toHref(path)}/${toHref(icon)}`,
        alt: '',
        loading: 'lazy',
      })
      image.addEventListener('error', () => image.replaceWith(letter))
      return image
    }

    /** The text, with what was searched for marked. */
    marked(text) {
      const parts = document.createDocumentFragment()
      const lower = text.toLowerCase()
      const terms = lower.length === text.length ? this.terms : []
      let at = 0
      while (at < text.length) {
        let next = -1
        let term = ''
        for (const one of terms) {
          const place = lower.indexOf(one, at)
          if (place !== -1 && (next === -1 || place < next)) [next, term] = [place, one]
        }
        if (next === -1) break
        parts.append(text.slice(at, next), make('mark', {}, text.slice(next, next + term.length)))
        at = next + term.length
      }
      parts.append(text.slice(at))
      return parts
    }
  }

  const badge = (outcome, cause) =>
    make(
      'span',
      { class: `badge ${outcome}`, title: cause || undefined },
      outcome.charAt(0).toUpperCase() + outcome.slice(1),
    )

  /** What narrows a list beside the words: where it is the same, more letters find less. */
  const restOf = ({ host, tag, cause, from, to }) => JSON.stringify([host, tag, cause, String(from), String(to)])

  function matches(entry, { terms, host, tag, cause, from, to }) {
    if (entry.seconds < from || entry.seconds > to) return false
    if (host !== '' && entry.host !== host) return false
    if (tag !== '' && !entry.tags.includes(tag)) return false
    if (cause !== '' && entry.cause !== cause) return false
    for (const term of terms) if (!entry.words.includes(term)) return false
    return true
  }

  /** The part of a text where the first of the words is, or its beginning. */
  function around(text, terms) {
    for (const term of terms) {
      const at = text.toLowerCase().indexOf(term)
      if (at > 60) return `… ${text.slice(at - 40)}`
    }
    return text
  }

  // --- a copy as it was served ----------------------------------------------------------------------------------------

  /**
   * What a copy may load: files beside it. The frame that shows it is ruled by the policy of this page, too; this one
   * keeps frames of its own from it.
   */
  const COPY_POLICY =
    "default-src 'none'; img-src 'self' file: data:; media-src 'self' file: data:; font-src 'self' file: data:; " +
    "style-src 'self' file: 'unsafe-inline'"
  const NOT_SHOWN =
    'script, base, meta[http-equiv], iframe, frame, object, embed, applet, bgsound, portal, fencedframe, ' +
    'link:not([rel~="stylesheet" i]), [attributeName*="href" i], [attributename*="href" i]'
  const unpacked = new Map()

  /** The text of a copy that this page carries, as it may be shown; a promise. */
  const copyOf = (href) => {
    const shown = (bytes) => {
      const isSource = packedAt(href).dataset.as === 'source'
      return isSource ? make('pre', {}, textOf(bytes)).outerHTML : closed(textOf(bytes), href)
    }
    if (!unpacked.has(href)) unpacked.set(href, unpack(href).then(shown))
    return unpacked.get(href)
  }
  const packedAt = (href) => document.querySelector(`[data-packed="${CSS.escape(href)}"]`)
  const isPacked = (href) => packedAt(href) !== null

  async function unpack(href) {
    const base64 = packedAt(href).textContent
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
    return new Uint8Array(await new Response(stream).arrayBuffer())
  }

  /** Text in the encoding that a browser would take it for. */
  function textOf(bytes) {
    const [a, b, c] = bytes
    const mark = a === 0xfe && b === 0xff ? 'utf-16be' : a === 0xff && b === 0xfe ? 'utf-16le' : undefined
    const isMarked = a === 0xef && b === 0xbb && c === 0xbf
    const head = new TextDecoder('latin1').decode(bytes.subarray(0, 1024))
    const declared = /<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(head)?.[1]
    const label = mark ?? (isMarked ? 'utf-8' : declared?.replace(/^utf-16.*/i, 'utf-8'))
    try {
      return new TextDecoder(label ?? 'utf-8', { fatal: label === undefined }).decode(bytes)
    } catch {
      return new TextDecoder('windows-1252').decode(bytes)
    }
  }

  const NOWHERE = 'data:,'
  /** Attributes that are an address, and those that are CSS. */
  const ADDRESSES =
    /^(?:xlink:)?(?:href|src|poster|background|data|action|formaction|cite|longdesc|lowsrc|dynsrc|icon|manifest|profile)$/i
  const STYLED = /^(?:style|fill|stroke|filter|mask|clip-path|cursor|marker(?:-\w+)?|from|to|by|values)$/i
  const SENDS = /^(?:on|ping$|attributionsrc$|autofocus$|nonce$|srcdoc$|imagesrcset$)/i
  /** An address behind which a comma stands, or one with words about it. No place of it is tried again. */
  const CANDIDATE = /[^\s,]\S*,(?=\s|$)|[^\s,]\S*[^,]*/g

  /**
   * An address in a copy: of a file in the folder of this page, of a place in the copy, or of nothing. On some systems a
   * file has a host (`file://host/share`), which is asked for it.
   */
  function closedAddress(address, base, isSheet = false) {
    const text = address.trim()
    if (/^(?:#|data:|about:)/i.test(text)) return isSheet ? NOWHERE : address
    const folder = new URL('.', location.href).href
    const isInside = !URL.canParse(text) && !/%(?:2f|5c)/i.test(text) && URL.parse(text, base)?.href.startsWith(folder)
    return isInside ? address : NOWHERE
  }

  /** A picture to choose. A comma at the end of its address would end it. */
  function closedCandidate(candidate, base) {
    const address = /^\S+/.exec(candidate)[0].replace(/,$/, '')
    return closedAddress(address, base) === address ? candidate : `${NOWHERE}-${candidate.slice(address.length)}`
  }

  /** The text of a style sheet that is its own address. */
  function sheetIn(address) {
    const [, type, text] = /^\s*data:([^,]*),([\s\S]*)$/i.exec(address) ?? []
    if (text === undefined) return ''
    try {
      const plain = decodeURIComponent(text)
      if (!/;\s*base64\s*$/i.test(type)) return plain
      return textOf(Uint8Array.from(atob(plain), (character) => character.charCodeAt(0)))
    } catch {
      return '' // No text in any code that we know.
    }
  }

  const NAME = String.raw`(?:[-\w\u0080-\uffff]|\\(?:[\da-f]{1,6}\s?|[^\n\r\f\da-f]))+`
  const QUOTED = String.raw`"(?:\\[\s\S]|[^"\\\n\r\f])*"?|'(?:\\[\s\S]|[^'\\\n\r\f])*'?`
  /** Of a comment, a string, a name and whether something stands in its parentheses; or one character. */
  const TOKEN = new RegExp(String.raw`/\*[\s\S]*?(?:\*/|$)|(${QUOTED})|(@?${NAME})(\()?|[\s\S]`, 'gi')
  // What stands in (?=()) is not tried in parts.
  const BARE = /(?=(\s*))\1(?=((?:\\[\s\S]|[^"'()\\\s])*))\2\s*(?:\)|$)/y
  const BROKEN = /(?:\\[\s\S]|[^)\\])*\)?/y
  const ESCAPE = /\\(?:([\da-f]{1,6})(?:\r\n|\s)?|(?:\r\n|[\n\r\f])|([\s\S]))/gi
  const PICTURES = /^(?:-webkit-)?image-set$|^image$/
  const IN_PICTURES =
    /^(?:url|src|type|calc|(?:-webkit-)?image-set|(?:-\w+-)?(?:repeating-)?(?:linear|radial|conic)-gradient)$/

  const plain = (css) =>
    css.replace(ESCAPE, (_all, hex, other = '') =>
      hex ? String.fromCodePoint(Math.min(Number.parseInt(hex, 16) || 0xfffd, 0x10ffff)) : other,
    )
  const quoted = (text) => `"${text.replace(/["\\\n\r\f<]/g, (char) => `\\${char.charCodeAt(0).toString(16)} `)}"`

  /** CSS whose addresses are closed ones, read by its tokens. */
  function closedCss(css, base) {
    if (!/[\\@(]/.test(css)) return css
    const open = []
    let isImport = false
    let written = ''
    TOKEN.lastIndex = 0
    for (let token = TOKEN.exec(css); token; token = TOKEN.exec(css)) {
      const [text, string, word, paren] = token
      const name = word && plain(word).toLowerCase()
      const within = open.at(-1)
      if (string !== undefined) {
        const isAddress = within === 'url' || PICTURES.test(within) || (isImport && within === undefined)
        written += isAddress ? quoted(closedAddress(plain(string.replace(/^["']|["']$/g, '')), base, isImport)) : text
        isImport = false
      } else if (paren && (name === 'url' || name === 'src')) {
        BARE.lastIndex = BROKEN.lastIndex = TOKEN.lastIndex
        const isString = /^\s*["']/.test(css.slice(TOKEN.lastIndex, TOKEN.lastIndex + 999))
        const bare = isString ? null : BARE.exec(css)
        if (isString) open.push('url')
        else if (bare) TOKEN.lastIndex = BARE.lastIndex
        else TOKEN.lastIndex += BROKEN.exec(css)[0].length
        written += isString
          ? 'url('
          : bare
            ? `url(${quoted(closedAddress(plain(bare[2]), base, isImport))})`
            : 'bad-url'
        isImport &&= isString
      } else if (paren) {
        open.push(name)
        written += PICTURES.test(within) && !IN_PICTURES.test(name) ? 'none(' : text
      } else {
        if (text === '(') open.push('')
        else if (text === ')') open.pop()
        else if (/[;{}]/.test(text)) isImport = false
        else if (name?.startsWith('@')) isImport = name === '@import'
        written += text.startsWith('/*') ? '/**/' : text
      }
    }
    return written
  }

  /** Reads a property that elements with names may stand before. */
  const reader = (of, name) => {
    const { get } = Object.getOwnPropertyDescriptor(of.prototype, name)
    return (node) => get.call(node)
  }
  const [attributesOf, nameOf] = ['attributes', 'localName'].map((name) => reader(Element, name))
  const [rootOf, headOf, doctypeOf] = ['documentElement', 'head', 'doctype'].map((name) => reader(Document, name))

  /** Takes out what no policy rules, and what leads out of the folder; also of templates, which may be shadow roots. */
  function shut(root, base) {
    for (const element of root.querySelectorAll(NOT_SHOWN)) element.remove()
    for (const link of root.querySelectorAll('link')) {
      const [address, media] = ['href', 'media'].map((name) => link.getAttribute(name) ?? '')
      if (/alternate/i.test(link.getAttribute('rel'))) link.remove()
      // What a style sheet in an address asks for would be read by nobody.
      else if (/^\s*data:/i.test(address)) link.replaceWith(make('style', { media }, sheetIn(address)))
      else link.setAttribute('rel', 'stylesheet')
    }
    for (const element of [...(root.localName ? [root] : []), ...root.querySelectorAll('*')]) {
      const kind = nameOf(element)
      const isLink = /^(?:a|area)$/.test(kind)
      for (const attribute of [...attributesOf(element)]) {
        const { name, value } = attribute
        if (SENDS.test(name)) Element.prototype.removeAttributeNode.call(element, attribute)
        else if (STYLED.test(name)) attribute.value = closedCss(value, base)
        else if (/^srcset$/i.test(name)) attribute.value = value.replace(CANDIDATE, (one) => closedCandidate(one, base))
        else if (ADDRESSES.test(name) && !isLink) attribute.value = closedAddress(value, base)
      }
      if (kind === 'style') element.textContent = closedCss(element.textContent, base)
      if (isLink) lead(element)
      if (kind === 'template' && element.content) shut(element.content, base)
    }
  }

  /** Where a link leads: to a place in the copy, or nowhere. */
  function lead(link) {
    const target = (link.getAttribute('href') ?? '').trim()
    for (const name of ['accesskey', 'xlink:href']) link.removeAttribute(name)
    // With a base, a place in this page would be one in a folder.
    if (target.startsWith('#')) link.setAttribute('href', `about:srcdoc${target}`)
    else if (target !== '' && !target.startsWith('about:srcdoc#')) {
      // It looks like a link, and leads nowhere.
      if (target !== 'about:invalid')
        link.setAttribute('style', `${link.getAttribute('style') ?? ''};pointer-events:none!important`)
      link.setAttribute('href', 'about:invalid')
      link.setAttribute('tabindex', '-1')
    }
  }

  /**
   * A page that loads, follows and asks nothing: its policy, and nothing in it that a policy does not rule. Text may
   * become markup when it is read again: it is, until two rounds agree.
   */
  function closed(text, href) {
    const folder = href.slice(0, href.lastIndexOf('/') + 1)
    let written = text
    for (let round = 0; round < 6; round += 1) {
      const copy = new DOMParser().parseFromString(written, 'text/html')
      shut(rootOf(copy), new URL(folder, location.href).href)
      headOf(copy).prepend(
        make('meta', { 'http-equiv': 'Content-Security-Policy', content: COPY_POLICY }),
        make('base', { href: folder }),
      )
      const before = written
      written = `${doctypeOf(copy) ? '<!doctype html>' : ''}${rootOf(copy).outerHTML}`
      if (written === before) return written
    }
    return make('pre', {}, rootOf(new DOMParser().parseFromString(written, 'text/html')).textContent).outerHTML
  }

  /** Shows a copy in a frame; one that this page does not carry by its address. */
  function fill(frame, href) {
    if (!isPacked(href)) frame.src = href
    else
      copyOf(href).then(
        (text) => (frame.srcdoc = text),
        () => (frame.srcdoc = 'This copy cannot be shown.'),
      )
    return frame
  }

  // --- one page ----------------------------------------------------------------------------------------------------

  /** Pictures whose files are gone; of frames nobody is told. */
  addEventListener(
    'error',
    ({ target }) => {
      if (target.tagName !== 'IMG') return
      if (target.closest('#copy'))
        target.replaceWith(make('p', { class: 'nothing' }, `${target.getAttribute('src')} is not here any more.`))
      else if (target.closest('.bar')) target.remove()
      else if (target.closest('.card')) target.replaceWith('gone')
    },
    true,
  )

  function startSnapshot() {
    showCopies()
    const links = [...document.querySelectorAll('.strip a[data-shown]')].filter(
      ({ dataset }) => dataset.shown !== 'file',
    )
    const main = find('#copy')
    if (!main) return
    const show = (link) => {
      const { shown, name } = link.dataset
      const href = link.getAttribute('href')
      const element =
        {
          image: () => make('img', { src: href, alt: `${name} of the page` }),
          video: () => make('video', { src: href, controls: true }),
          audio: () => make('audio', { src: href, controls: true }),
        }[shown] ??
        (() =>
          make('iframe', {
            name: 'copy',
            title: `The copy: ${name}`,
            referrerpolicy: 'no-referrer',
            sandbox: shown === 'pdf' ? undefined : 'allow-same-origin',
          }))
      const made = element()
      if (made.tagName === 'IFRAME') fill(made, href)
      main.className = `copy ${shown}${/^(?:text|source)$/.test(shown) || link.classList.contains('text') ? ' reading' : ''}`
      main.replaceChildren(made)
      for (const other of links) other.removeAttribute('aria-current')
      link.setAttribute('aria-current', 'true')
      link.scrollIntoView({ block: 'nearest', inline: 'nearest' })
    }
    const choose = (link) => {
      show(link)
      try {
        history.replaceState(null, '', `#${link.getAttribute('href')}`)
      } catch {
        // Not everywhere for files.
      }
    }
    addEventListener('click', (event) => {
      const link = event.target.closest?.('a[data-shown]')
      if (!link || link.dataset.shown === 'file' || event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      choose(link)
      if (!links.includes(link)) main.scrollIntoView()
    })
    addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      if (
        !step ||
        event.altKey ||
        event.ctrlKey ||
        event.metaKey ||
        /^(INPUT|SELECT|VIDEO|AUDIO)$/.test(event.target.tagName)
      )
        return
      const at = links.findIndex((link) => link.hasAttribute('aria-current'))
      const next = links[(at + step + links.length) % links.length]
      if (!next) return
      event.preventDefault()
      choose(next)
      if (document.activeElement?.matches('.strip a')) next.focus()
    })
    const asked = links.find((link) => `#${link.getAttribute('href')}` === location.hash)
    // The best first: where a browser has no viewer for a PDF (a phone's), what comes after it.
    const canShow = ({ dataset }) => dataset.shown !== 'pdf' || navigator.pdfViewerEnabled
    const best = links.find((link) => link.hasAttribute('aria-current'))
    const current = asked ?? (canShow(best) ? best : (links.find(canShow) ?? best))
    if (current !== best || current.dataset.shown !== 'html' || isPacked(current.getAttribute('href'))) show(current)
    for (const frame of document.querySelectorAll('iframe[data-copy]')) fill(frame, frame.dataset.copy)
  }

  /** Other copies of the same URL: the one before, the next, and all of them. */
  function showCopies() {
    const nav = find('#copies')
    const top = document
      .querySelector('.crumbs a')
      .getAttribute('href')
      .replace(/\/index\.html$/, '')
    const all = known.toSorted(([a], [b]) => (a < b ? -1 : 1))
    if (all.length < 2) return
    const chip = ([at, outcome, path]) => {
      // By its id alone: the address may have been typed in any code.
      const isHere = location.pathname.includes(path.slice(path.lastIndexOf('/')))
      const text =
        all.filter(([other]) => other.slice(0, 10) === at.slice(0, 10)).length > 1
          ? minuteOf(new Date(at))
          : dayOf(new Date(at))
      return make(
        isHere ? 'b' : 'a',
        {
          class: outcome,
          href: isHere ? undefined : `${top}/${toHref(path)}/index.html`,
          'aria-current': isHere && 'true',
          title: outcome,
        },
        text,
      )
    }
    nav.replaceChildren(...all.map(chip))
    nav.querySelector('b')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }

  document.addEventListener('DOMContentLoaded', () => {
    for (const time of document.querySelectorAll('time')) time.textContent = minuteOf(new Date(time.dateTime))
    const data = find('#data')
    if (data) new PageList(JSON.parse(data.textContent)).start()
    else startSnapshot()
  })
})()
