// Third-party parts of the bundles: their licences, and a bill of materials for scanners of known defects (CycloneDX).
import { globSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { Contrib, Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library'

/** Third-party code inside packages that has no folder here, or none that a module is loaded from. */
const INSIDE = {
  unpdf: (packages) => [
    {
      name: 'pdfjs-dist',
      version: /apiVersion:[`"']([\d.]+)/.exec(readFileSync(join(packages, 'unpdf/dist/pdfjs.mjs'), 'utf8'))[1],
      license: 'Apache-2.0',
      text: 'Copyright Mozilla Foundation. Its sources: https://github.com/mozilla/pdf.js',
    },
  ],
  tldts: (packages) => [
    partAt(join(packages, 'tldts-core')),
    {
      name: 'Public Suffix List',
      license: 'MPL-2.0',
      text: 'In the form that tldts gives it. Its source: https://publicsuffix.org/list/public_suffix_list.dat',
    },
  ],
}

/** Packages that contain the full text of a licence which others only name. */
const WHOLE_TEXTS = { 'Apache-2.0': 'b4a', 'MPL-2.0': 'axe-core' }

/** The folder of npm's packages as a bundler names it: with all links resolved. */
const packagesOf = (root) => realpathSync(join(root, 'node_modules'))

/** The packages of these modules, as in the lock file, each with the third-party code inside it. */
export function partsOf(modules, root) {
  const packages = packagesOf(root)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  const folders = new Set(modules.map((id) => folderOf(id, packages)).filter(Boolean))
  return [...folders].sort().map((folder) => {
    const part = partAt(folder)
    const { integrity } = lock[`node_modules${folder.slice(packages.length)}`]
    return { ...part, integrity, inside: INSIDE[part.name]?.(packages) ?? [] }
  })
}

/** A name that begins with NUL is internal to the bundler. */
function folderOf(id, packages) {
  return id.startsWith('\0') ? join(packages, 'rolldown') : /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]
}

function partAt(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return { name, version, license, text: textIn(folder) }
}

/** The licence in the package: a file, or the end of its README. */
function textIn(folder) {
  const files = globSync('{LICENSE,LICENCE,License,license,NOTICE}*', { cwd: folder }).sort()
  if (files.length > 0) return files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n')
  return /^#+ licen[sc]e\n(.*)/ims.exec(readFileSync(join(folder, 'README.md'), 'utf8'))?.[1].trim()
}

/** All licences, in one text. */
export function licencesOf(parts, root) {
  const all = parts.flatMap(({ inside, ...part }) => [part, ...inside.map((one) => ({ ...one, within: part.name }))])
  const texts = all.map(({ name, version, license, text, within }) => {
    const title = [name, version, `(${license})`, within && `inside ${within}`].filter(Boolean).join(' ')
    return `${title}\n\n${text ?? 'The package carries no text of it.'}\n`
  })
  const whole = Object.entries(WHOLE_TEXTS).map(
    ([license, owner]) =>
      `${license}, the whole text\n\n${readFileSync(join(packagesOf(root), owner, 'LICENSE'), 'utf8').trim()}\n`,
  )
  return [...texts, ...whole].join(`\n${'-'.repeat(80)}\n\n`)
}

/** The bill of materials, as CycloneDX 1.6 in JSON: the same text for the same parts. */
export function billOf({ name, version, license }, parts) {
  const bom = new Models.Bom()
  bom.metadata.component = componentOf({ name, version, license }, Enums.ComponentType.Application)
  for (const part of parts) {
    const component = componentOf(part)
    for (const one of part.inside) component.components.add(componentOf(one))
    bom.components.add(component)
  }
  const json = new Serialize.JsonSerializer(new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6))
  return json.serialize(bom, { sortLists: true, space: 1 })
}

/** A part without a version is not a package. */
function componentOf({ name, version, license, integrity }, type = Enums.ComponentType.Library) {
  const licenses = licensesOf(license)
  if (!version) return new Models.Component(Enums.ComponentType.Data, name, { bomRef: name, licenses })
  const id = `${name}@${version}`
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const component = new Models.Component(type, name, { version, bomRef: id, purl, licenses })
  if (integrity) component.hashes.set(Enums.HashAlgorithm['SHA-512'], hexOf(integrity))
  return component
}

const licensesOf = (license) =>
  new Models.LicenseRepository([new Contrib.License.Factories.LicenseFactory().makeFromString(license)])
const hexOf = (integrity) => Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
