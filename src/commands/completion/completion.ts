import { defineCommand, NO_HOME } from '../define-command.js';
import { COMPLETE } from './complete.js';

const SCRIPTS: ReadonlyMap<string, string> = new Map([
  [
    'bash',
    `# Completion of keyway for bash 4 or later, printed by "keyway completion bash".
_keyway() {
  local current=\${COMP_WORDS[COMP_CWORD]} offers
  mapfile -t offers < <("\${COMP_WORDS[0]}" ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
  if [[ \${offers[0]} == ':paths' ]]; then
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "\${current#=}")
  else
    COMPREPLY=("\${offers[@]%%$'\\t'*}")
  fi
}

complete -F _keyway keyway`,
  ],
  [
    'zsh',
    `#compdef keyway
# Completion of keyway for zsh, printed by "keyway completion zsh".
_keyway() {
  local -a offers
  offers=("\${(@f)$("$words[1]" ${COMPLETE} "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ $offers[1] == ':paths' ]]; then
    compset -P '*='
    _files
  elif [[ -n $offers[1] ]]; then
    offers=("\${offers[@]/$'\\t'/:}")
    _describe word offers
  fi
}

if [[ $funcstack[1] == _keyway ]]; then
  _keyway "$@"
else
  compdef _keyway keyway
fi`,
  ],
  [
    'fish',
    `# Completion of keyway for fish, printed by "keyway completion fish".
function __keyway_offers
  set -l words (commandline -opc) (commandline -ct)
  set -l offers ($words[1] ${COMPLETE} $words[2..-1] 2> /dev/null)
  if test "$offers[1]" = ':paths'
    __fish_complete_path (string replace -r '^--[^=]*=' '' -- $words[-1])
  else
    printf '%s\\n' $offers
  end
end

complete -c keyway -f -a '(__keyway_offers)'`,
  ],
]);
const SHELLS = [...SCRIPTS.keys()];

export const completion = defineCommand<string, null>({
  name: 'completion',
  offered: SHELLS,
  home: NO_HOME,
  ask({ problems }, { words: [shell = '', ...others] }) {
    const script = others.length === 0 ? SCRIPTS.get(shell) : undefined;
    if (script === undefined) problems.push(`expected one shell: ${SHELLS.join(', ')}`);
    return script ?? '';
  },
  async work(_home, script, { output }) {
    output.line(script);
  },
  help: () => `Usage: keyway completion bash|zsh|fish

Prints a script for the shell. It completes commands, flags, revisions, other values that are one of a
few words, and paths, by asking the keyway that is typed: after an update it needs no other script.

  bash:  keyway completion bash > ~/.local/share/bash-completion/completions/keyway
  zsh:   keyway completion zsh > FOLDER/_keyway      # a folder of $fpath
  fish:  keyway completion fish > ~/.config/fish/completions/keyway.fish`,
});
