#!/usr/bin/env node
// The metadata of a picture: size, camera, place, date, caption.
import { readFileSync } from 'node:fs'
import { sizeLimit, tooLarge } from '../../base/env-settings.ts'
import { writeJson } from '../../base/whole-file.ts'
import { defineHook, noResults, succeeded } from '../base/hook.ts'
import { servedFile } from '../base/served-file.ts'

const DEFAULT_MAX_SIZE = 100 * 1024 * 1024

export default defineHook(import.meta, {
  plugin: 'exif',
  async run(context) {
    const file = servedFile(context)
    if ('status' in file) return file
    const { pictureType, readPicture } = await import('./read-picture.ts')
    const type = pictureType(file.head)
    if (type === undefined) return noResults('not a picture')
    const limit = sizeLimit(context.env, 'EXIF_MAX_SIZE', DEFAULT_MAX_SIZE)
    if (file.size > limit.bytes) return noResults(tooLarge(limit).message)
    const about = await readPicture(readFileSync(file.path), type)
    writeJson(context.outputDir, 'exif.json', { file: `staticfile/${file.name}`, ...about })
    return succeeded('exif/exif.json')
  },
})
