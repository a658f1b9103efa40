/**
 * For scripts in a world of ours: `reader(Element, 'shadowRoot')` reads a property of an element. An element with a
 * name of its own may stand before what a document or a form has of that name.
 */
export const READER = `const reader = (of, name) => {
    const { get } = Object.getOwnPropertyDescriptor(of.prototype, name)
    return (node) => get.call(node)
  }`
