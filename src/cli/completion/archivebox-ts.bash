# bash completion of archivebox-ts:  source <(archivebox-ts completion bash)
_archivebox_ts() {
  local words=() word glue='' begun i about
  # Bash takes = and : for words of their own: they are put together again.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $glue || ($i -gt 0 && $word == [=:]*) ]]; then words[-1]+=$word; else words+=("$word"); fi
    if [[ $word == *[=:] ]]; then glue=1; else glue=''; fi
  done
  # What stands before the last = or : is there already.
  begun=${words[-1]}
  if [[ $COMP_WORDBREAKS == *=* ]]; then begun=${begun%"${begun##*[=:]}"}; else begun=''; fi
  COMPREPLY=()
  while IFS=$'\t' read -r word about; do COMPREPLY+=("${word#"$begun"}"); done \
    < <("${COMP_WORDS[0]}" completion words "${words[@]}" 2>/dev/null)
  if [[ ${COMPREPLY[0]} == files ]]; then compopt -o default 2>/dev/null; fi
  unset 'COMPREPLY[0]'
  COMPREPLY=("${COMPREPLY[@]}")
  if [[ ${#COMPREPLY[@]} -eq 1 ]]; then
    if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
    printf -v 'COMPREPLY[0]' %q "${COMPREPLY[0]}"
  fi
}
complete -F _archivebox_ts archivebox-ts
