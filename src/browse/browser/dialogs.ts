import type { Session } from './cdp.ts'

/** A page that opens more dialogs will never stop. */
const MOST_DIALOGS = 50

/**
 * Answers the dialogs of a page with no, since nobody is there to answer; ends a script that does not stop opening
 * them.
 */
export function dismissDialogs(session: Session): void {
  let asked = 0
  session.on('Page.javascriptDialogOpening', ({ type }) => {
    // Answering no to "leave this page?" would keep the page.
    const accept = type === 'beforeunload'
    if (++asked > MOST_DIALOGS) session.send('Runtime.terminateExecution').catch(() => {})
    session.send('Page.handleJavaScriptDialog', { accept }).catch(() => {})
  })
}
