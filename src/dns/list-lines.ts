import type { LineReader } from './line-rules.js';
import { createListRules, type ListRules } from './list-rules.js';

/** Why a list cannot be used; one clause for the log. */
export class ListError extends Error {}

/** Longer lines are not rules; hosts files with several names a line are far shorter. */
const MOST_LINE_BYTES = 16_384;
const LINE_FEED = 0x0a;

/**
 * Creates a reader of a list's lines, in pieces of any size, with or without CRLF and a byte order mark. It throws
 * `ListError` if the content is not a list.
 */
export function createListReader(rules: ListRules, readLine: LineReader) {
  let carry: Buffer = Buffer.alloc(0);
  let overlong = false;
  let seenContent = false;

  function push(chunk: Buffer): void {
    if (chunk.includes(0)) throw new ListError('it is binary, no text');
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      if (end < 0) break;
      if (carry.length === 0 && !overlong) take(chunk.toString('utf8', start, end));
      else finishLine(chunk.subarray(start, end));
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }

  /** Keeps the beginning of a line that continues in the next piece. */
  function keep(rest: Buffer): void {
    if (rest.length === 0 || overlong) return;
    overlong = carry.length + rest.length > MOST_LINE_BYTES;
    carry = overlong ? Buffer.alloc(0) : Buffer.concat([carry, rest]);
  }

  function finishLine(rest: Buffer): void {
    keep(rest);
    const line = carry;
    carry = Buffer.alloc(0);
    if (!overlong) take(line.toString('utf8'));
    overlong = false;
  }

  function take(text: string): void {
    // Trimming also removes a byte order mark.
    const line = text.trim();
    if (line === '' || line.length > MOST_LINE_BYTES) return;
    if (!seenContent && line.startsWith('<')) throw new ListError('it is a web page, no list');
    seenContent = true;
    takeLine(line, rules, readLine);
  }

  return {
    push,
    end(): void {
      finishLine(Buffer.alloc(0));
    },
  };
}

/** Reads a trimmed line, and counts it. */
function takeLine(line: string, rules: ListRules, readLine: LineReader): void {
  const outcome = readLine(line, rules);
  if (outcome === 'taken') rules.rules += 1;
  if (outcome === 'unsupported') rules.unsupported += 1;
}

/** Reads the few rules that are in the settings. */
export function readRules(texts: readonly string[], readLine: LineReader): ListRules {
  const rules = createListRules();
  for (const text of texts.join('\n').split('\n')) {
    const line = text.trim();
    if (line !== '') takeLine(line, rules, readLine);
  }
  return rules;
}
