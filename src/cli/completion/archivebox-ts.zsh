#compdef archivebox-ts
# zsh completion of archivebox-ts:  source <(archivebox-ts completion zsh)
_archivebox_ts() {
  local -a lines described assigned
  local line word about
  lines=("${(@f)$(${words[1]} completion words "${(@)words[1,CURRENT]}" 2>/dev/null)}")
  if [[ $lines[1] == files ]]; then
    _files
    return
  fi
  for line in "${(@)lines[2,-1]}"; do
    word=${line%%$'\t'*}
    about=${line#*$'\t'}
    if [[ $word == *= ]]; then assigned+=("$word"); else described+=("${word//:/\\:}:$about"); fi
  done
  _describe archivebox-ts described
  compadd -S '' -- $assigned
}
compdef _archivebox_ts archivebox-ts
