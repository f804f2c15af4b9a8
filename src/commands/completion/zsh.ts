import { familiesOf, type Offer, type OfferedCommand, type OfferedFlag } from './lines.js';

/** A script for zsh's completion system, to be put into a folder of `fpath` as `_keyway`, or sourced after `compinit`. */
export function zshScript(commands: readonly OfferedCommand[]): string {
  return `#compdef keyway
# Completion of keyway for zsh, printed by "keyway completion zsh".
_keyway() {
  local context state state_descr line command
  typeset -A opt_args
  if ((CURRENT == 2)); then
    local -a first=(
${firstEntries(commands).join('\n')}
    )
    _describe command first
    return
  fi
  command=$words[2]
  case $command in
    help)
      shift words
      ((CURRENT--))
      _keyway
      return
      ;;
${familiesOf(commands)
  .map((family) => familyCase(family, commands))
  .join('\n')}
  esac
  shift words
  ((CURRENT--))
  case $command in
${commands.map(commandCase).join('\n')}
  esac
}

if [[ $funcstack[1] == _keyway ]]; then
  _keyway "$@"
else
  compdef _keyway keyway
fi`;
}

function firstEntries(commands: readonly OfferedCommand[]): readonly string[] {
  const single = commands.filter(({ name }) => !name.includes(' '));
  const families = familiesOf(commands).map((family) => ({ name: family, summary: `commands: ${family} …` }));
  const others = [{ name: 'help', summary: 'tell all about a command' }];
  return [...single, ...families, ...others].map(({ name, summary }) => `      ${entry(name, summary)}`);
}

function familyCase(family: string, commands: readonly OfferedCommand[]): string {
  const entries = commands.flatMap(({ name, summary }) =>
    name.startsWith(`${family} `) ? [`          ${entry(name.slice(family.length + 1), summary)}`] : [],
  );
  return `    ${family})
      if ((CURRENT == 3)); then
        local -a second=(
${entries.join('\n')}
        )
        _describe command second
        return
      fi
      command+=" $words[3]"
      shift words
      ((CURRENT--))
      ;;`;
}

/** One element of what `_describe` takes. */
function entry(name: string, summary: string): string {
  return quoted(`${name}:${summary}`);
}

function commandCase({ name, flags, words }: OfferedCommand): string {
  const specs = [...flags.map(flagSpec), ...(words === null ? [] : [quoted(`*:word:${actionOf(words)}`)])];
  return `    '${name}')
      _arguments ${specs.join(' \\\n        ')}
      ;;`;
}

/** As `_arguments` takes it: `=` after the name allows both --flag value and --flag=value, `*` repetition. */
function flagSpec({ text, takesValue, offer }: OfferedFlag): string {
  return quoted(takesValue ? `*${text}=:value:${offer === null ? ' ' : actionOf(offer)}` : text);
}

function actionOf(offer: Offer): string {
  return offer.kind === 'paths' ? '_files' : `(${offer.values.join(' ')})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
