import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** A terminal to read from, such as `tty.ReadStream`. */
export type SecretInput = Readable & { setRawMode(raw: boolean): unknown };

/** The terminal on which the question is asked. */
export interface Prompt {
  write(text: string): unknown;
}

const ENTER = new Set(['\r', '\n']);
const BACKSPACE = new Set(['\u007f', '\b']);
const BREAK_OFF = new Set(['\u0003', '\u0004']);
const CLEAR_LINE = '\u0015';

/**
 * Asks on a terminal and reads one line without showing it. Null when it was broken off with Ctrl-C or Ctrl-D, or when the
 * terminal went away. Backspace and Ctrl-U work as usual.
 */
export function askSecret(input: SecretInput, output: Prompt, question: string): Promise<string | null> {
  return new Promise((resolve) => {
    const letters: string[] = [];
    const finish = (answer: string | null) => {
      input.off('data', read);
      input.off('end', gone);
      input.setRawMode(false);
      input.pause();
      output.write('\n');
      resolve(answer);
    };
    const gone = () => finish(null);
    const read = (text: string) => {
      for (const letter of text) {
        if (ENTER.has(letter)) return finish(letters.join(''));
        if (BREAK_OFF.has(letter)) return finish(null);
        if (BACKSPACE.has(letter)) letters.pop();
        else if (letter === CLEAR_LINE) letters.length = 0;
        else letters.push(letter);
      }
    };
    input.setEncoding('utf8');
    // Before the question, so that even an immediate answer is not shown.
    input.setRawMode(true);
    output.write(question);
    input.on('data', read);
    input.on('end', gone);
    input.resume();
  });
}

/**
 * Asks on a terminal until nothing is wrong with the answer, one line, which may be edited as usual. Null when it was broken off, as above.
 */
export function askLine(
  input: Readable,
  output: Writable,
  question: string,
  problemWith: (answer: string) => string | null,
): Promise<string | null> {
  // One for all answers: what is typed is shown twice where a second one follows on the same terminal.
  const lines = createInterface({ input, output, terminal: true, prompt: question });
  return new Promise((resolve) => {
    let accepted: string | null = null;
    lines.on('SIGINT', () => lines.close());
    lines.on('line', (answer) => {
      const problem = problemWith(answer);
      if (problem === null) {
        accepted = answer;
        lines.close();
        return;
      }
      output.write(`${problem}\n`);
      lines.prompt();
    });
    lines.once('close', () => {
      if (accepted === null) output.write('\n');
      resolve(accepted);
    });
    lines.prompt();
  });
}
