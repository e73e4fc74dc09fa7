# Completion of foreshard for bash
_foreshard() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" command="foreshard" word words=""
  case "$previous" in
@VALUES@  esac
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " $(_foreshard_words "$command") " in
      *" $word "*) case "$word" in -*) ;; *) command="$command $word" ;; esac ;;
    esac
  done
  words="$(_foreshard_words "$command")"
  COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
}
_foreshard_words() {
  local words=""
  case "$1" in
@CASES@  esac
  echo "$words"
}
complete -o filenames -F _foreshard foreshard
