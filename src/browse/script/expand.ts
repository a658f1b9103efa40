import { pause } from './pause.ts'

/** "Read more" in the commoner languages. */
const MORE = new RegExp(
  `^\\W*(?:${[
    '(?:read|show|view|see|load|display) (?:more|all|full|the rest|everything)\\b.{0,20}',
    'continue reading|expand(?: all)?|read on',
    '(?:mehr|alles|alle|weitere) (?:anzeigen|lesen|laden)|weiterlesen',
    '(?:voir|lire|afficher|charger) (?:plus|tout|la suite)',
    '(?:ver|leer|mostrar|cargar|carregar|ler) (?:más|mais|todo|tudo)|seguir leyendo',
    '(?:mostra|leggi|vedi|carica) (?:altro|di più|tutto)',
    '(?:показать|читать|загрузить) (?:ещё|еще|всё|все|полностью|далее|дальше)',
    'もっと(?:見る|読む)|続きを読む|展开(?:全文|更多)?|查看更多|显示更多|加载更多|더 ?보기',
  ].join('|')})\\W*$`,
  'iu',
)
/** Matches a button that may do more than open something. */
const DOES = new RegExp(
  [
    'delet|remov|eras|reset|discard|clear|cancel|unsub|subscri|sign|log ?(?:in|out)|follow|like|vote|report|block|mark',
    'buy|order|pay|cart|basket|checkout|book|donat|accept|agree|allow|confirm|approv|enable|disable|start|stop|restart',
    'submit|send|save|publish|share|post|repl|comment|edit|upload|download|install|upgrade|notif|invite|join|leave',
    'lösch|entfern|kauf|bestell|bezahl|warenkorb|abmeld|anmeld|senden|speicher|zustimm|teilen',
    'supprim|achet|command|pay|envoy|enregistr|partag|elimin|borrar|compr|pagar|enviar|guardar|cancell|salva|invia',
    'удал|куп|заказ|оплат|отправ|сохран|削除|購入|送信|保存|删除|购买|提交|삭제|구매',
  ].join('|'),
  'iu',
)
const MENUS = 'nav, header, footer, form, [role=navigation], [role=banner], [role=menu], [role=menubar], [role=tablist]'
const PRESSED = ':is(button, [role=button], a, [aria-expanded=false]):not(input, select, label, area, [disabled])'
const FIELDS = 'form, input, select, textarea'
const CLICKS = 50
const SAME = 3

/**
 * Opens folded content: `details`, sections with a button that declares what it controls, and text behind "read more".
 * It follows no links, sends or opens no forms, and leaves menus closed; it presses "load more" a few times. It does
 * not press a section's button that sounds as if it did more, and presses none without `presses`: only a button's
 * script knows what it does, with the rights of the persona that is logged in. A page whose buttons were pressed cannot
 * navigate any more, not even later.
 */
export async function expand(until: number, presses: boolean): Promise<void> {
  for (const details of document.querySelectorAll<HTMLDetailsElement>('details:not([open], [name])')) {
    if (details.closest(MENUS)) continue
    details.open = true
    if (![...details.children].every(isInFlow)) details.open = false
  }
  if (!presses) return
  const stay = (event: Event) => event.cancelable && event.preventDefault()
  globalThis.navigation?.addEventListener('navigate', stay)
  const pressed = new Map<HTMLElement, number>()
  for (let clicks = 0; clicks < CLICKS && performance.now() < until; ) {
    const next = [...document.querySelectorAll<HTMLElement>(PRESSED)].filter(
      (element) => (pressed.get(element) ?? 0) < SAME && opens(element),
    )
    if (next.length === 0) break
    for (const element of next.slice(0, CLICKS - clicks)) {
      pressed.set(element, (pressed.get(element) ?? 0) + 1)
      element.click()
    }
    clicks += next.length
    await pause(200)
  }
  if (pressed.size === 0) globalThis.navigation?.removeEventListener('navigate', stay)
}

const isShown = (element: Element) => element.checkVisibility({ visibilityProperty: true })
const isInFlow = (element: Element) => !/absolute|fixed/.test(getComputedStyle(element).position)

/** Whether pressing this opens folded content, and does nothing else. */
function opens(element: HTMLElement): boolean {
  if (element.closest(MENUS) || (element as Partial<HTMLButtonElement>).form) return false
  if (element.hasAttribute('aria-haspopup')) return false
  if (element.localName === 'a' && !/^(|#|javascript:.*)$/i.test(element.getAttribute('href') ?? '')) return false
  const controlled = document.getElementById(element.getAttribute('aria-controls') ?? '')
  const isText = controlled && !controlled.matches(FIELDS) && !controlled.querySelector(FIELDS)
  const isFolded = element.ariaExpanded === 'false' && isText && !isShown(controlled) && isInFlow(controlled)
  const isMore = element.textContent.length < 60 && MORE.test(element.textContent.trim())
  const name = [element.textContent, element.ariaLabel, element.title].join(' ')
  return (isMore || (!!isFolded && !DOES.test(name))) && isShown(element)
}
