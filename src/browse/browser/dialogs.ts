import type { Session } from './cdp.ts'

/** A page that asks more often asks for ever. */
const MOST_DIALOGS = 50

/** Answers what a page asks with no, since nobody is there who could; ends the script that does not stop asking. */
export function dismissDialogs(session: Session): void {
  let asked = 0
  session.on('Page.javascriptDialogOpening', ({ type }) => {
    // No to "leave this page?" would keep the page.
    const accept = type === 'beforeunload'
    if (++asked > MOST_DIALOGS) session.send('Runtime.terminateExecution').catch(() => {})
    session.send('Page.handleJavaScriptDialog', { accept }).catch(() => {})
  })
}
