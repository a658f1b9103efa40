import type { Scripts } from './scripts.ts'

const hasPasswordField: Scripts['has-password-field'] = () => has(document)
export default hasPasswordField

function has(root: ParentNode): boolean {
  return (
    root.querySelector('input[type=password i]') !== null ||
    [...root.querySelectorAll('*')].some((one) => {
      const within = one.shadowRoot ?? (/^i?frame$/i.test(one.tagName) ? documentIn(one as HTMLIFrameElement) : null)
      return within !== null && has(within)
    })
  )
}

/** We cannot access the document of a frame from another site. */
function documentIn(frame: HTMLIFrameElement): Document | null {
  try {
    return frame.contentDocument
  } catch {
    return null
  }
}
