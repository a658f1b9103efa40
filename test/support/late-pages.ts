import type { Routes } from './site.ts'

/** A page whose scripts make its text, after a while without a request. */
const late = (first: string) =>
  `<!doctype html><title>late</title><body>${first}<script>
     setTimeout(() => { document.body.innerHTML = '<p>late words' }, 2500)
   </script>`

const feed = (more: string) => `<!doctype html><title>feed</title><main></main><footer>end</footer><script>
     const end = document.querySelector('footer')
     const observer = new IntersectionObserver(async ([{ isIntersecting }]) => {
       if (!isIntersecting) return
       observer.unobserve(end)
       document.querySelector('main').insertAdjacentHTML('beforeend', await (await fetch('${more}')).text())
       observer.observe(end)
     })
     observer.observe(end)
   </script>`

const more =
  (ms: number): Routes[string] =>
  (_request, response) =>
    void setTimeout(() => response.end('<p style="height: 1000px">more</p>'.repeat(3)), ms)

export const latePages: Routes = {
  '/splash': late(''),
  '/spins': late('<p>This page has a menu and a footer, and between them</p><div aria-busy="true">a wheel</div>'),
  // Feeds that grow whenever their end is visible.
  '/feed': feed('/more'),
  '/more': more(30),
  '/slow-feed': feed('/slow-more'),
  '/slow-more': more(700),
  '/says-loading': late('<h1>Loading …</h1>'),
}
