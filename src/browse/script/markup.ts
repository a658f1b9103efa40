import { reader } from './world.ts'

const kindOf = reader(Element, 'namespaceURI')

export const isHtml = (element: Element) => kindOf(element) === 'http://www.w3.org/1999/xhtml'

/** Escapes text for content, or for a value between `"`. */
export const escaped = (text: string) => text.replace(/[&<>"\u00a0]/g, (char) => `&#${char.charCodeAt(0)};`)
