type Get = (this: HTMLCanvasElement, kind: string, options?: object) => RenderingContext | null

/** Makes WebGL drawings readable at any time, and not only at the moment of drawing. */
export function keepDrawings(): void {
  const get = HTMLCanvasElement.prototype.getContext as Get
  const getContext: Get = function getContext(kind, options) {
    return get.call(this, kind, /webgl/.test(kind) ? { ...options, preserveDrawingBuffer: true } : options)
  }
  HTMLCanvasElement.prototype.getContext = getContext as HTMLCanvasElement['getContext']
}
