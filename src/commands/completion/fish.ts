import { familiesOf, type Offer, type OfferedCommand } from './lines.js';

/** A script for fish, to be put into a folder of `fish_complete_path` as `keyway.fish`, or sourced. */
export function fishScript(commands: readonly OfferedCommand[]): string {
  const families = familiesOf(commands);
  const single = commands.filter(({ name }) => !name.includes(' '));
  return `# Completion of keyway for fish, printed by "keyway completion fish".
function __keyway_at --description 'Whether the line so far names exactly this command'
  set -l words (commandline -opc) ''
  set -l named $words[2]
  if contains -- "$named" help ${families.join(' ')}
    set named "$named $words[3]"
  end
  test (string trim -- "$named") = "$argv"
end

complete -c keyway -f
complete -c keyway -n "__keyway_at ''" -a help -d 'tell all about a command'
complete -c keyway -n "__keyway_at ''" -l version
complete -c keyway -n "__keyway_at ''" -l help
${[
  ...single.map(({ name, summary }) => offerWord("__keyway_at ''", name, summary)),
  ...families.flatMap((family) =>
    ["__keyway_at ''", '__keyway_at help'].map((place) => offerWord(place, family, `commands: ${family} …`)),
  ),
  ...commands.flatMap(({ name, summary }) => secondWord(name, summary)),
  ...commands.flatMap(commandLines),
].join('\n')}`;
}

function offerWord(condition: string, word: string, summary: string): string {
  return `complete -c keyway -n ${quoted(condition)} -a ${word} -d ${quoted(summary)}`;
}

function secondWord(name: string, summary: string): readonly string[] {
  const [first = '', second] = name.split(' ');
  if (second === undefined) return [offerWord('__keyway_at help', first, summary)];
  return ['', 'help '].map((before) => offerWord(`__keyway_at ${before}${first}`, second, summary));
}

function commandLines({ name, flags, words }: OfferedCommand): readonly string[] {
  const start = `complete -c keyway -n '__keyway_at ${name}'`;
  const lines = flags.map(({ text, takesValue, offer }) => {
    const value = takesValue ? ` -r${offer === null ? ' -f' : valuesOf(offer)}` : '';
    return `${start} -l ${text.slice(2)}${value}`;
  });
  return words === null ? lines : [...lines, `${start}${words.kind === 'paths' ? ' -F' : valuesOf(words)}`];
}

/** `-f` keeps file names out, `-F` asks for them. */
function valuesOf(offer: Offer): string {
  return offer.kind === 'paths' ? ' -F' : ` -f -a ${quoted(offer.values.join(' '))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
