// The package ships no types.
declare module 'html-encoding-sniffer' {
  interface Options {
    readonly xml?: boolean
    readonly transportLayerEncodingLabel?: string
    /** The result when the encoding is not declared. */
    readonly defaultEncoding?: string
  }
  /** The WHATWG name of the encoding of an HTML or XML byte stream. */
  export default function sniff(bytes: Uint8Array, options?: Options): string
}
