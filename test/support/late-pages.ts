import type { Routes } from './site.ts'

/** A page whose scripts make what it says, after a while without a request. */
const late = (first: string) =>
  `<!doctype html><title>late</title><body>${first}<script>
     setTimeout(() => { document.body.innerHTML = '<p>late words' }, 2500)
   </script>`

export const latePages: Routes = {
  '/splash': late(''),
  '/spins': late('<p>This page has a menu and a footer, and between them</p><div aria-busy="true">a wheel</div>'),
  '/says-loading': late('<h1>Loading …</h1>'),
}
