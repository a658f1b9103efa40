// The elements and attributes that a copy may have. Those that are not listed here do nothing in it, whatever a browser
// makes of them.

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Attributes that every element may have, including elements that are unknown to HTML. */
const EVERYWHERE = words(`
  class contenteditable dir draggable hidden id inert itemid itemprop itemref itemscope itemtype lang part exportparts
  popover role slot spellcheck style tabindex title translate xml:lang xml:space`)
const OWN = /^(?:aria|data)-[\w.:-]+$/

/** Attributes of HTML, SVG and MathML together: none of them has another meaning in one of the others. */
const SOMEWHERE = words(`
  abbr align alink alt autocapitalize autocomplete axis bgcolor border bordercolor bottommargin cellpadding cellspacing
  char charoff checked clear color cols colspan command commandfor compact content controls coords datetime decoding
  default direction disabled download enterkeyhint face for form frame frameborder headers height high hreflang hspace
  inputmode kind label leftmargin link loop low marginheight marginwidth max maxlength media min minlength multiple
  muted name noresize noshade novalidate nowrap open optimum pattern placeholder playsinline popovertarget
  popovertargetaction property readonly rel required reversed rightmargin rows rowspan rules scope scrollamount
  scrolldelay scrolling selected shape size sizes span srclang start step summary target text topmargin type valign
  value valuetype vlink vspace width wrap shadowrootclonable shadowrootdelegatesfocus shadowrootmode
  shadowrootserializable
  accent-height accumulate additive alignment-baseline amplitude ascent attributename attributetype azimuth
  basefrequency baseline-shift begin bias by calcmode clip clip-path clip-rule clippathunits color-interpolation
  color-interpolation-filters color-profile color-rendering cursor cx cy d diffuseconstant display divisor
  dominant-baseline dur dx dy edgemode elevation end exponent fill fill-opacity fill-rule filter filterunits
  flood-color flood-opacity font font-family font-size font-size-adjust font-stretch font-style font-variant
  font-weight fr from fx fy g1 g2 glyph-name glyphref gradienttransform gradientunits image-rendering in in2 intercept
  isolation k k1 k2 k3 k4 kerning kernelmatrix kernelunitlength keypoints keysplines keytimes lengthadjust
  letter-spacing lighting-color limitingconeangle local marker marker-end marker-mid marker-start markerheight
  markerunits markerwidth mask mask-type maskcontentunits maskunits method mix-blend-mode mode numoctaves offset
  opacity operator order orient orientation origin overflow paint-order path pathlength patterncontentunits
  patterntransform patternunits pointer-events points pointsatx pointsaty pointsatz preservealpha preserveaspectratio
  primitiveunits r radius refx refy repeatcount repeatdur restart result rotate rx ry scale seed shape-rendering side
  slope spacing specularconstant specularexponent spreadmethod startoffset stddeviation stitchtiles stop-color
  stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit
  stroke-opacity stroke-width surfacescale systemlanguage tablevalues targetx targety text-anchor text-decoration
  text-rendering textlength to transform transform-origin u1 u2 unicode unicode-bidi values vector-effect version
  vert-adv-y vert-origin-x vert-origin-y viewbox visibility word-spacing writing-mode x x1 x2 xchannelselector y y1 y2
  ychannelselector z zoomandpan
  accent accentunder bevelled columnalign columnlines columnspacing columnspan denomalign depth displaystyle encoding
  fence largeop length linethickness lquote lspace mathbackground mathcolor mathsize mathvariant maxsize minsize
  movablelimits notation numalign rowalign rowlines rowspacing rquote rspace scriptlevel scriptminsize
  scriptsizemultiplier selection separator separators stretchy subscriptshift supscriptshift symmetric voffset`)

/** Attributes that are CSS, or may refer to something in CSS syntax. */
export const STYLED = words(`
  style clip-path color-profile cursor fill filter mask marker marker-end marker-mid marker-start stroke from to by
  values`)
/** Attributes that name something that is shown. */
export const SHOWN = words('src poster background')
/** Attributes with an address whose purpose depends on the element. */
export const LEADING = words('href xlink:href')

const HTML_ELEMENTS = words(`
  a abbr acronym address area article aside audio b bdi bdo big blink blockquote body br button canvas caption center
  cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em fieldset figcaption figure font footer
  form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link main
  map mark marquee menu meta meter nav nobr object ol optgroup option output p picture pre progress q rb rp rt rtc ruby
  s samp search section select slot small source span strike strong style sub summary sup table tbody td template
  textarea tfoot th thead time title tr track tt u ul var video wbr`)
const SVG_ELEMENTS = words(`
  svg a altglyph altglyphdef altglyphitem animate animatemotion animatetransform circle clippath defs desc ellipse
  feblend fecolormatrix fecomponenttransfer fecomposite feconvolvematrix fediffuselighting fedisplacementmap
  fedistantlight fedropshadow feflood fefunca fefuncb fefuncg fefuncr fegaussianblur feimage femerge femergenode
  femorphology feoffset fepointlight fespecularlighting fespotlight fetile feturbulence filter font font-face
  foreignobject g glyph hkern image line lineargradient marker mask metadata mpath path pattern polygon polyline
  radialgradient rect set stop style switch symbol text textpath title tref tspan use view vkern`)
const MATHML_ELEMENTS = words(`
  math maction menclose merror mfenced mfrac mi mlabeledtr mmultiscripts mn mo mover mpadded mphantom mprescripts mroot
  mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics annotation`)
export const ANIMATIONS = words('animate animatetransform set')

/** Elements that are more than containers in HTML: they run, load or redirect, or their text is parsed differently. */
const REFUSED = words(`
  applet base basefont bgsound embed fencedframe image noembed noframes noscript param portal script webview`)
/** A name that is unknown to HTML, as custom elements have: a browser shows their content. */
const UNKNOWN = /^[a-z][a-z0-9]*(?:[-:._][a-z0-9]+)*-*$/

/** Known elements that are more than their attributes, or whose content is not parsed as text. */
const NOT_PLAIN = words(`
  body frame frameset head html iframe link meta style template textarea title`)

/** Whether it is known, and only a container for text, other elements and attributes. @param name in lower case */
export const isPlain = (name: string): boolean => HTML_ELEMENTS.has(name) && !NOT_PLAIN.has(name)

export type Verdict = 'known' | 'unknown' | 'refused'

/** Decides about an element. @param name in lower case */
export function verdictOn(kind: 'html' | 'svg' | 'mathml', name: string): Verdict {
  if (kind === 'svg') return SVG_ELEMENTS.has(name) ? 'known' : 'refused'
  if (kind === 'mathml') return MATHML_ELEMENTS.has(name) ? 'known' : 'refused'
  if (HTML_ELEMENTS.has(name)) return 'known'
  return UNKNOWN.test(name) && !REFUSED.has(name) ? 'unknown' : 'refused'
}

/** On unknown elements, only attributes that have a meaning elsewhere can have one. */
const MEANS_NOTHING = /^(?!on)[a-z][\w.-]*$/
const MEANS_SOMETHING = words(`
  action archive attributionsrc autofocus cite classid codebase data dynsrc formaction http-equiv icon imagesrcset is
  longdesc lowsrc manifest nonce ping profile referrerpolicy sandbox srcdoc usemap xmlns`)

/** Whether an element may have this attribute, whatever its value. @param name in lower case */
export function isAllowed(name: string, verdict: Verdict): boolean {
  if (EVERYWHERE.has(name) || OWN.test(name)) return true
  if (verdict === 'known') return SOMEWHERE.has(name)
  return MEANS_NOTHING.test(name) && !MEANS_SOMETHING.has(name)
}

/** Whether an animation may change it. */
export function isAnimated(name: string): boolean {
  return SOMEWHERE.has(name) && !/^(?:attribute|name$|type$|form$|for$|target$|content$)/.test(name)
}

/** The schemes of links that a browser, a mail program or the like opens when a user clicks them. */
const SCHEMES = words(
  'http: https: ftp: ftps: gemini: gopher: geo: irc: ircs: magnet: mailto: news: sip: sms: tel: xmpp:',
)

/** A link that may stay: a place in the page, or an absolute address; undefined for others. */
export function linkOf(value: string): string | undefined {
  const text = value.trimStart()
  if (text.startsWith('#')) return text
  const url = URL.parse(text)
  return url && SCHEMES.has(url.protocol) ? url.href : undefined
}
