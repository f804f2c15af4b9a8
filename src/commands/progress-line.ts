import type { ProgressPort } from '../core/ports.js';

/** A terminal that a line can be written on again and again. */
export interface ProgressTerminal {
  /** Writes text as it is, without a line end. */
  write(text: string): void;
  /** The characters that fit into a line. */
  columns(): number;
}

/** To the beginning of the line, and empty it (ECMA-48: CR, EL 2). */
const ERASE = '\r\u001b[2K';
const BAR = 30;

/** Progress as the last line of a terminal, which goes when it is cleared. Without a terminal nothing is shown. */
export function createProgressLine(terminal: ProgressTerminal | null): ProgressPort {
  if (terminal === null) return { show: () => undefined, clear: () => undefined };
  let shown = '';
  return {
    show(what, share) {
      // A line that is as long as the terminal is wide would go on in the next one, which no erasing reaches.
      const text = (share === undefined ? `${what} …` : `${bar(share)} ${what}`).slice(0, terminal.columns() - 1);
      if (text === shown) return;
      terminal.write(`${shown === '' ? '' : ERASE}${text}`);
      shown = text;
    },
    clear() {
      if (shown !== '') terminal.write(ERASE);
      shown = '';
    },
  };
}

function bar(share: number): string {
  const filled = Math.round(Math.min(Math.max(share, 0), 1) * BAR);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}]`;
}

/** The two ways lines go out. */
export interface Lines {
  readonly line: (text: string) => void;
  readonly complain: (text: string) => void;
}

/** Lines and progress on one terminal: a line takes the place of what is shown of progress. */
export function linesWithProgress(
  { line, complain }: Lines,
  terminal: ProgressTerminal | null,
): Lines & { readonly progress: ProgressPort } {
  const progress = createProgressLine(terminal);
  const instead = (write: (text: string) => void) => (text: string) => {
    progress.clear();
    write(text);
  };
  return { line: instead(line), complain: instead(complain), progress };
}
