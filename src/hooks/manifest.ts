import { own } from '../base/own.ts'
import { type Declared, declaredSettings } from './declared.ts'
import type { PluginFolder } from './plugin-folders.ts'
import { type RequiredBinary, requiredBinaries } from './upstream/required-binaries.ts'

/** The content of a plugin's config.json. */
export interface Manifest {
  /** What it does, in words, and the MIME types, or their beginnings, of what it makes. */
  readonly means: string
  readonly mimetypes: readonly string[]
  /** `makes`, as it is there; undefined: it is missing. */
  readonly makes: unknown
  /** Plugins whose output it needs. */
  readonly requires: readonly string[]
  /** Its hooks read published files, not the work tree. */
  readonly readsPublished: boolean
  /** Its hooks work on the file that a URL is: they have nothing to do on pages. */
  readonly needsFile: boolean
  /** The URLs that it applies to; undefined: all. */
  readonly urls: RegExp | undefined
  /** Its hooks read what background hooks write at their end: those end first. */
  readonly awaitsBackground: boolean
  /** Programs that it needs. */
  readonly binaries: readonly RequiredBinary[]
  /** The settings that it declares. */
  readonly declares: readonly Declared[]
  /** The programs that it is made for, by their names in ABX_RUNTIME; none: all. */
  readonly runtimes: readonly string[]
}

/** Reads a config.json. The file is optional; one that is not JSON counts as missing. */
export function manifestOf(config: PluginFolder['config']): Manifest {
  const words = (key: string) => {
    const given = own(config, key)
    return Array.isArray(given) ? given.map(String) : []
  }
  return {
    means: typeof config['description'] === 'string' ? config['description'] : '',
    mimetypes: words('output_mimetypes'),
    makes: own(config, 'makes'),
    readsPublished: config['reads_published'] === true,
    needsFile: config['needs_file'] === true,
    urls: patternOf(config['urls']),
    awaitsBackground: config['wait_for_background_cleanup'] === true,
    requires: words('required_plugins'),
    binaries: requiredBinaries(config),
    declares: declaredSettings(config),
    runtimes: words('x-runtimes').map((name) => name.trim().toLowerCase()),
  }
}

/** An invalid expression counts as missing. */
function patternOf(text: unknown): RegExp | undefined {
  try {
    return typeof text === 'string' ? new RegExp(text, 'i') : undefined
  } catch {
    return undefined
  }
}
