import type { Scripts } from './scripts.ts'
import { reader, shadowOf } from './world.ts'

/** Scripts that read the fields find them empty, too. */
const emptyFields: Scripts['empty-fields'] = (selector) => {
  const contentOf = reader(HTMLTemplateElement, 'content')
  const inside = (root: Document | DocumentFragment) => {
    const { querySelectorAll } = (root === document ? Document : DocumentFragment).prototype
    for (const field of querySelectorAll.call(root, selector) as NodeListOf<HTMLInputElement>) {
      field.removeAttribute('value')
      if (field.value) field.value = ''
    }
    for (const element of querySelectorAll.call(root, '*')) {
      const shadow = shadowOf(element)
      if (shadow) inside(shadow)
      if (element instanceof HTMLTemplateElement) inside(contentOf(element))
    }
  }
  inside(document)
}
export default emptyFields
