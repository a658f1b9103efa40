/**
 * A command line that may be stored and shown: passwords in URLs, and values of `-c KEY=VALUE`, are replaced by stars.
 */
export function shownCommand(argv: readonly string[]): string[] {
  return argv.map((word, index) => {
    const before = argv[index - 1]
    const isSetting = before === '-c' || before === '--config' || /^(-c|--config=)\w+=/.test(word)
    const shown = isSetting ? word.replace(/^((?:-c|--config=)?\w+)=.*/s, '$1=***') : word
    return shown.replace(/(:\/\/[^:/@\s]*):[^@\s]*@/, '$1:***@')
  })
}
