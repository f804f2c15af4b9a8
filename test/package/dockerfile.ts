/** One instruction of a Dockerfile. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
}

/** The instructions in order; comments are left out, lines that end in a backslash go on. */
export function readInstructions(file: string): readonly Instruction[] {
  const lines = file
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n');
  return lines
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const space = line.indexOf(' ');
      return { name: line.slice(0, space), text: line.slice(space + 1).trim() };
    });
}

/** The instructions of the last stage: those that make the image. */
export function lastStage(instructions: readonly Instruction[]): readonly Instruction[] {
  return instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
}

/** The words of an instruction in exec form (a JSON array); throws when it is in shell form. */
export function execWords(text: string): readonly string[] {
  const words: unknown = JSON.parse(text);
  if (!Array.isArray(words)) throw new Error(`expected a JSON array, found ${text}`);
  return words.map(String);
}

/** The variables of `ENV`. */
export function variablesOf(instructions: readonly Instruction[]): Readonly<Record<string, string>> {
  const pairs = instructions.filter(({ name }) => name === 'ENV').flatMap(({ text }) => text.split(/\s+/));
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}
