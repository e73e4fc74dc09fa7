#compdef foreshard
# Completion of foreshard for zsh
_foreshard() {
  local command="foreshard" word
  local -a options commands
  local arguments
  for word in "${(@)words[2,CURRENT-1]}"; do
    _foreshard_words "$command"
    if (( ${commands[(I)$word:*]} )); then command="$command $word"; fi
  done
  _foreshard_words "$command"
  if (( $#commands )); then _describe command commands; fi
  _arguments -s $options "*:argument:${arguments:-_files}"
}
_foreshard_words() {
  options=() commands=() arguments=
  case "$1" in
@CASES@  esac
}
compdef _foreshard foreshard
