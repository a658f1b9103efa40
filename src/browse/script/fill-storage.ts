import type { Scripts } from './scripts.ts'

const fillStorage: Scripts['fill-storage'] = (origins) => {
  try {
    for (const { origin, localStorage: stored } of origins)
      for (const { name, value } of origin === location.origin ? stored : [])
        if (localStorage.getItem(name) === null) localStorage.setItem(name, value)
  } catch {} // This page has no storage.
}
export default fillStorage
