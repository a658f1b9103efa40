import { buffer } from 'node:stream/consumers'
import type { Protocol } from 'devtools-protocol'
import { AppError } from '../../base/errors.ts'
import type { FrameHtml } from '../script/scripts.ts'
import { type Session, unlessGone } from './cdp.ts'
import { noteClosedRoots } from './closed-roots.ts'
import { pictureOfElement } from './element-picture.ts'
import { readStream } from './read-stream.ts'
import { ANSWER_MS, type Tab } from './tab.ts'
import { runIn, worldOf } from './worlds.ts'

/** A file that the page shows. */
export interface PageFile {
  /** Its final URL, after redirects. */
  readonly url: string
  /** Media type, lower case. */
  readonly type: string
  readonly body: Buffer
}

/** A frame's document, and the documents in its elements with FRAME_MARK, by number. */
export interface PageFrame extends Pick<FrameHtml, 'html' | 'base'> {
  readonly frames: ReadonlyMap<string, PageFrame>
}

/** What a page shows. */
export interface PageParts {
  readonly page: PageFrame
  readonly files: ReadonlyMap<string, PageFile>
  /** The number of files that were too large. */
  readonly leftOut: number
}

type Tree = Protocol.Page.FrameResourceTree
/** The connection to a frame. */
type Via = Pick<Session, 'send'>
/** The frames of a page, by id. */
type Frames = ReadonlyMap<string, { readonly via: Via; readonly frame: Protocol.Page.Frame }>

interface Listed {
  readonly frameId: string
  readonly url: string
  readonly type: string
  readonly isFont: boolean
  /** Bytes, if known. */
  readonly size: number
}

const KINDS: ReadonlySet<Protocol.Network.ResourceType> = new Set(['Image', 'Stylesheet', 'Font', 'Document', 'Other'])
/** Bytes of one file: it arrives as one text of four thirds its size, which must fit into a hook's memory. */
export const MAX_FILE = 16 * 1024 * 1024

/**
 * The parts of what a tab shows: the documents of its frames, and the files in them that the browser still has; only a
 * font that may not be cached is requested again. Files beyond `maxBytes` in total are left out. Throws AppError when
 * the page does not answer.
 */
export async function partsOf(tab: Tab, maxBytes: number): Promise<PageParts> {
  const trees = await treesOf(tab)
  const { files, leftOut } = await filesOf(tab, trees, maxBytes)
  const frames = new Map(
    trees.flatMap(({ via, tree }) => [...framesIn(tree)].map((frame) => [frame.id, { via, frame }])),
  )
  const page = await frameOf(trees[0]!.tree.frame.id, frames, files)
  return { page: page!, files, leftOut }
}

/** The approximate size of a page's files in bytes, as far as the browser knows. */
export async function sizeOf(tab: Tab): Promise<number> {
  const listed = (await treesOf(tab)).flatMap(({ tree }) => [...listedIn(tree)])
  return listed.reduce((sum, { size }) => sum + size, 0)
}

/** The frame trees of the page itself, and of frames that have their own processes. */
async function treesOf(tab: Tab): Promise<{ via: Via; tree: Tree }[]> {
  const inner = tab.inner.frames.map(async (session) => {
    const via = patient(tab, session)
    const answer = await via.send('Page.getResourceTree').catch(unlessGone)
    return answer ? [{ via, tree: answer.frameTree }] : []
  })
  const { frameTree } = await tab.send('Page.getResourceTree')
  return [{ via: tab, tree: frameTree }, ...(await Promise.all(inner)).flat()]
}

/** Sends commands to a frame with a time limit: it may be busy while the page is not. */
function patient(tab: Tab, session: Session): Via {
  return {
    send: async (method, ...params) => {
      const answer = await tab.within(session.send(method, ...params), ANSWER_MS)
      if (answer === undefined) throw new AppError('a frame does not answer')
      return answer
    },
  }
}

async function frameOf(frameId: string, all: Frames, files: Map<string, PageFile>): Promise<PageFrame | undefined> {
  const place = all.get(frameId)
  if (!place) return undefined
  const { via, frame } = place
  const contextId = await worldOf(via, frameId)
  await noteClosedRoots(via, frame, contextId)
  const { html, base, pictured, framing } = await runIn(via, contextId, 'frame-html')
  for (const [number, url] of pictured.entries()) {
    const body = await pictureOfElement(via, contextId, number).catch(unlessGone)
    if (body) files.set(url, { url, type: 'image/png', body })
  }
  const frames = new Map<string, PageFrame>()
  for (let number = 0; number < framing; number += 1) {
    const inner = await innerFrame(via, contextId, number, all, files).catch(unlessGone)
    if (inner) frames.set(String(number), inner)
  }
  return { html, base, frames }
}

/** The document in an element; undefined when it shows none. */
async function innerFrame(
  via: Via,
  contextId: number,
  number: number,
  all: Frames,
  files: Map<string, PageFile>,
): Promise<PageFrame | undefined> {
  const { result } = await via.send('Runtime.evaluate', { contextId, expression: `framesOfPage[${number}]` })
  if (result.objectId === undefined) return undefined
  const { node } = await via.send('DOM.describeNode', { objectId: result.objectId })
  return node.frameId === undefined ? undefined : await frameOf(node.frameId, all, files)
}

async function filesOf(tab: Tab, trees: readonly { via: Via; tree: Tree }[], maxBytes: number) {
  const files = new Map<string, PageFile>()
  let bytes = 0
  let leftOut = 0
  const all = trees.flatMap(({ via, tree }) => [...listedIn(tree)].map((listed) => ({ via, ...listed })))
  for (const listed of all) {
    const { via, url, type, size } = listed
    if (files.has(url) || url.startsWith('data:')) continue
    if (size > MAX_FILE || bytes + size > maxBytes) leftOut++
    else {
      const body = await bodyOf(via, listed).catch(unlessGone)
      if (!body) continue
      files.set(url, { url: tab.network.locationOf(url), type: type.toLowerCase(), body })
      bytes += body.length
    }
  }
  return { files, leftOut }
}

async function bodyOf(via: Via, { frameId, url, isFont }: Listed): Promise<Buffer | undefined> {
  const content = await via.send('Page.getResourceContent', { frameId, url }).catch(unlessGone)
  if (content) return Buffer.from(content.content, content.base64Encoded ? 'base64' : 'utf8')
  if (!isFont) return undefined
  // A page does not keep the file of a font that it uses; the browser's cache does.
  const options = { disableCache: false, includeCredentials: true }
  const { resource } = await via.send('Network.loadNetworkResource', { frameId, url, options })
  if (resource.stream === undefined) return undefined
  return await buffer(readStream(via, resource.stream))
}

function* framesIn({ frame, childFrames }: Tree): Generator<Protocol.Page.Frame, void> {
  yield frame
  for (const child of childFrames ?? []) yield* framesIn(child)
}

/** The files that a frame and the frames in it show. */
function* listedIn({ frame, resources, childFrames }: Tree): Generator<Listed, void> {
  const frameId = frame.id
  // An element may show an image as if it were a document.
  if (frame.parentId !== undefined && frame.mimeType.startsWith('image/'))
    yield { frameId, url: frame.url, type: frame.mimeType, isFont: false, size: 0 }
  for (const { url, type, mimeType, contentSize = 0, failed, canceled } of resources)
    if (KINDS.has(type) && !failed && !canceled)
      yield { frameId, url, type: mimeType, isFont: type === 'Font', size: contentSize }
  for (const child of childFrames ?? []) yield* listedIn(child)
}
