import { familiesOf, type Offer, type OfferedCommand } from './lines.js';

/**
 * A script for bash 4 or later. Words of the tables hold no character that a shell takes for its own, so that they stand
 * as they are.
 */
export function bashScript(commands: readonly OfferedCommand[]): string {
  const families = familiesOf(commands);
  const firstWords = new Set([...commands.map(({ name }) => name.split(' ')[0] ?? ''), 'help', '--help', '--version']);
  return `# Completion of keyway for bash 4 or later, printed by "keyway completion bash".
_keyway() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]} at=1
  COMPREPLY=()
  # bash parts --flag=value into three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $before == '=' ]]; then
    before=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $command == help ]]; then
    command=\${COMP_WORDS[2]} at=2
  fi
  if ((COMP_CWORD == at)); then
    _keyway_words '${[...firstWords].join(' ')}'
    return
  fi
  case $command in
${families.map((family) => familyCase(family, commands)).join('\n')}
  esac
  if ((at == 2)); then
    return
  fi
  case "$command $before" in
${valueCases(commands).join('\n')}
  esac
  case $command in
${commands.map(commandCase).join('\n')}
  esac
}

# The words that begin with what is typed. Read from _keyway: current.
_keyway_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current")
}

_keyway_paths() {
  compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

complete -F _keyway keyway`;
}

function familyCase(family: string, commands: readonly OfferedCommand[]): string {
  const seconds = commands.flatMap(({ name }) =>
    name.startsWith(`${family} `) ? [name.slice(family.length + 1)] : [],
  );
  return `    ${family})
      if ((COMP_CWORD == at + 1)); then
        _keyway_words '${seconds.join(' ')}'
        return
      fi
      command+=" \${COMP_WORDS[at + 1]}"
      ;;`;
}

/** The places after flags that take a value: those where nothing is offered end there too. */
function valueCases(commands: readonly OfferedCommand[]): readonly string[] {
  const places = new Map<string, string[]>();
  for (const { name, flags } of commands) {
    for (const { text, takesValue, offer } of flags) {
      if (!takesValue) continue;
      const action = actionOf(offer);
      places.set(action, [...(places.get(action) ?? []), `'${name} ${text}'`]);
    }
  }
  return [...places].map(([action, patterns]) => `    ${patterns.join(' | ')})\n${action}      return\n      ;;`);
}

function actionOf(offer: Offer | null): string {
  if (offer === null) return '';
  return offer.kind === 'paths' ? '      _keyway_paths\n' : `      _keyway_words '${offer.values.join(' ')}'\n`;
}

function commandCase({ name, flags, words }: OfferedCommand): string {
  const flagWords = `_keyway_words '${flags.map(({ text }) => text).join(' ')}'`;
  if (words === null) return `    '${name}') ${flagWords} ;;`;
  return `    '${name}')
      if [[ $current == -* ]]; then
        ${flagWords}
        return
      fi
${actionOf(words)}      ;;`;
}
