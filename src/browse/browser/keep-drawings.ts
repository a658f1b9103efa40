/** Before any script of a page: what WebGL has drawn can be read later, and not only in the moment when it is drawn. */
export const KEEP_DRAWINGS = `{
  const get = HTMLCanvasElement.prototype.getContext
  HTMLCanvasElement.prototype.getContext = function getContext(kind, options) {
    return get.call(this, kind, /webgl/.test(kind) ? { ...options, preserveDrawingBuffer: true } : options)
  }
}`
