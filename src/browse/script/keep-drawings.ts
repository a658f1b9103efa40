type Get = (this: HTMLCanvasElement, kind: string, options?: object) => RenderingContext | null

/** What WebGL has drawn can be read later, and not only in the moment when it is drawn. */
export function keepDrawings(): void {
  const get = HTMLCanvasElement.prototype.getContext as Get
  const getContext: Get = function getContext(kind, options) {
    return get.call(this, kind, /webgl/.test(kind) ? { ...options, preserveDrawingBuffer: true } : options)
  }
  HTMLCanvasElement.prototype.getContext = getContext as HTMLCanvasElement['getContext']
}
