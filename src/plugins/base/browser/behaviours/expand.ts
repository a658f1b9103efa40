/**
 * A function of the page: opens what is folded, namely `details`, sections with a button that says what it controls,
 * and what is behind "read more" in the commoner languages. What leads elsewhere is not followed, forms are not sent,
 * and menus stay closed; "load more" is pressed a few times and then no more.
 */
export const EXPAND = `async (until, pause) => {
  const MORE = new RegExp('^\\\\W*(?:' + [
    '(?:read|show|view|see|load|display) (?:more|all|full|the rest|everything)\\\\b.{0,20}',
    'continue reading|expand(?: all)?|read on',
    '(?:mehr|alles|alle|weitere) (?:anzeigen|lesen|laden)|weiterlesen',
    '(?:voir|lire|afficher|charger) (?:plus|tout|la suite)',
    '(?:ver|leer|mostrar|cargar|carregar|ler) (?:más|mais|todo|tudo)|seguir leyendo',
    '(?:mostra|leggi|vedi|carica) (?:altro|di più|tutto)',
    '(?:показать|читать|загрузить) (?:ещё|еще|всё|все|полностью|далее|дальше)',
    'もっと(?:見る|読む)|続きを読む|展开(?:全文|更多)?|查看更多|显示更多|加载更多|더 ?보기',
  ].join('|') + ')\\\\W*$', 'iu')
  const MENUS = 'nav, header, footer, form, ' +
    '[role=navigation], [role=banner], [role=menu], [role=menubar], [role=tablist]'
  const PRESSED = 'button, [role=button], a, [aria-expanded=false]'
  const CLICKS = 50
  const SAME = 3
  const isShown = (element) => element.checkVisibility({ visibilityProperty: true })
  const isInFlow = (element) => !/absolute|fixed/.test(getComputedStyle(element).position)

  for (const details of document.querySelectorAll('details:not([open], [name])')) {
    if (details.closest(MENUS)) continue
    details.open = true
    if (![...details.children].every(isInFlow)) details.open = false
  }

  const stay = (event) => event.cancelable && event.preventDefault()
  globalThis.navigation?.addEventListener('navigate', stay)
  const presses = new Map()
  for (let clicks = 0; clicks < CLICKS && performance.now() < until; ) {
    const next = [...document.querySelectorAll(PRESSED)].filter((element) => {
      if ((presses.get(element) ?? 0) >= SAME || element.closest(MENUS)) return false
      if (element.hasAttribute('aria-haspopup')) return false
      if (element.localName === 'a' && !/^(|#|javascript:.*)$/i.test(element.getAttribute('href') ?? '')) return false
      const controlled = document.getElementById(element.getAttribute('aria-controls') ?? '')
      const isFolded = element.ariaExpanded === 'false' && controlled && !isShown(controlled) && isInFlow(controlled)
      const isMore = element.textContent.length < 60 && MORE.test(element.textContent.trim())
      return (isFolded || isMore) && isShown(element)
    })
    if (next.length === 0) break
    for (const element of next.slice(0, CLICKS - clicks)) {
      presses.set(element, (presses.get(element) ?? 0) + 1)
      element.click()
    }
    clicks += next.length
    await pause(200)
  }
  globalThis.navigation?.removeEventListener('navigate', stay)
}`
