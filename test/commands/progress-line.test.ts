import { describe, expect, it } from 'vitest';
import { createProgressLine, linesWithProgress } from '../../src/commands/progress-line.js';

/** What a terminal shows in the end, line by line. */
function screen(written: readonly string[]): readonly string[] {
  const lines = [''];
  for (const text of written) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: by one the line is cleared
    for (const part of text.split(/(\r\u001b\[2K|\n)/)) {
      if (part === '\n') lines.push('');
      else lines[lines.length - 1] = part === '\r\u001b[2K' ? '' : `${lines.at(-1)}${part}`;
    }
  }
  return lines;
}

function terminalOf(columns: number) {
  const written: string[] = [];
  return { written, terminal: { write: (text: string) => written.push(text), columns: () => columns } };
}

describe('the line that shows progress', () => {
  it('shows what is under way, and its share as a bar', () => {
    const { written, terminal } = terminalOf(80);
    const progress = createProgressLine(terminal);
    progress.show('reading');
    expect(screen(written)).toEqual(['reading …']);
    progress.show('1 of 2', 0.5);
    expect(screen(written)).toEqual([`[${'#'.repeat(15)}${'.'.repeat(15)}] 1 of 2`]);
    progress.clear();
    expect(screen(written)).toEqual(['']);
  });

  it('is written again only when it changes', () => {
    const { written, terminal } = terminalOf(80);
    const progress = createProgressLine(terminal);
    for (let line = 0; line <= 100_000; line += 1) progress.show('reading', line / 100_000);
    expect(written).toHaveLength(31);
    progress.clear();
    progress.clear();
    expect(written).toHaveLength(32);
  });

  it('never goes on in a second line of a narrow terminal', () => {
    const { written, terminal } = terminalOf(20);
    createProgressLine(terminal).show('a long name of a file', 1);
    expect(screen(written)).toEqual([`[${'#'.repeat(18)}`]);
  });

  it('gives its place to every line that goes out, whichever way', () => {
    const { written, terminal } = terminalOf(80);
    const write = (text: string) => written.push(`${text}\n`);
    const { line, complain, progress } = linesWithProgress({ line: write, complain: write }, terminal);
    progress.show('playing', 0);
    line('one');
    progress.show('playing', 0.5);
    complain('two');
    expect(screen(written)).toEqual(['one', 'two', '']);
  });

  it('shows nothing without a terminal', () => {
    const written: string[] = [];
    const write = (text: string) => written.push(text);
    const { line, progress } = linesWithProgress({ line: write, complain: write }, null);
    progress.show('playing', 0.5);
    line('one');
    progress.clear();
    expect(written).toEqual(['one']);
  });
});
