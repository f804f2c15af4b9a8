/** What a reader makes of each JSON value. `T` is the value's own representation. */
export interface JsonBuilder<T> {
  object(members: readonly JsonMember<T>[]): T;
  array(items: T[]): T;
  string(value: string): T;
  /** `lexeme` is the number as the text spells it. */
  number(lexeme: string): T;
  word(value: null | boolean): T;
}

export interface JsonMember<T> {
  readonly name: string;
  readonly value: T;
}

/** What is wrong with a text, for a message in the viewer's language. */
export type JsonProblemKind = 'end' | 'unexpected' | 'string' | 'number' | 'comment' | 'duplicate' | 'deep' | 'after';

/** A text that is no JSON; `line` and `column` count from 1. */
export class JsonProblem extends Error {
  readonly kind: JsonProblemKind;
  readonly line: number;
  readonly column: number;
  readonly found: string;

  constructor(kind: JsonProblemKind, text: string, offset: number, found: string) {
    const before = text.slice(0, offset);
    const line = before.split('\n').length;
    const column = offset - before.lastIndexOf('\n');
    super(`${kind} at line ${line}, column ${column}: ${found}`);
    this.kind = kind;
    this.line = line;
    this.column = column;
    this.found = found;
  }
}

const DEEPEST = 1000;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const BLANK = /[ \t\n\r]*/y;

/**
 * Reads one JSON value (RFC 8259) with whatever the builder makes of it. Throws `JsonProblem`; a name that occurs twice
 * in one object is a problem where `duplicates` says so, otherwise the builder sees both.
 */
export function readJson<T>(text: string, build: JsonBuilder<T>, duplicates: 'reject' | 'keep' = 'keep'): T {
  let at = 0;
  let depth = 0;

  function fail(kind: JsonProblemKind, offset = at): never {
    throw new JsonProblem(kind, text, offset, text.slice(offset, offset + 1));
  }

  function blanks(): void {
    const code = text.charCodeAt(at);
    if (code > 0x20) return;
    BLANK.lastIndex = at;
    at += BLANK.exec(text)?.[0].length ?? 0;
  }

  function unexpected(): never {
    if (at >= text.length) fail('end');
    const next = text.charAt(at);
    fail(next === '#' || text.startsWith('//', at) || text.startsWith('/*', at) ? 'comment' : 'unexpected');
  }

  function word<W extends null | boolean>(spelling: string, value: W): T {
    if (!text.startsWith(spelling, at)) unexpected();
    at += spelling.length;
    return build.word(value);
  }

  function stringValue(): string {
    const start = at;
    let end = at + 1;
    let escaped = false;
    for (;;) {
      const code = text.charCodeAt(end);
      if (code === 0x22) break;
      if (Number.isNaN(code)) fail('end', text.length);
      if (code < 0x20) fail('string', end);
      if (code === 0x5c) {
        escaped = true;
        end += 1;
      }
      end += 1;
    }
    at = end + 1;
    return escaped ? decoded(start) : text.slice(start + 1, end);
  }

  function decoded(start: number): string {
    try {
      return String(JSON.parse(text.slice(start, at)));
    } catch {
      return fail('string', start);
    }
  }

  function number(): T {
    NUMBER.lastIndex = at;
    const lexeme = NUMBER.exec(text)?.[0];
    if (lexeme === undefined || /[\w.]/.test(text.charAt(at + lexeme.length))) fail('number');
    at += lexeme.length;
    return build.number(lexeme);
  }

  function descend(): void {
    depth += 1;
    if (depth > DEEPEST) fail('deep');
    at += 1;
    blanks();
  }

  /** After an item: true when another follows. */
  function another(close: string): boolean {
    blanks();
    const next = text.charAt(at);
    if (next !== ',' && next !== close) unexpected();
    at += 1;
    if (next === ',') {
      blanks();
      return true;
    }
    depth -= 1;
    return false;
  }

  function array(): T {
    const items: T[] = [];
    descend();
    if (text.charAt(at) === ']') {
      at += 1;
      depth -= 1;
      return build.array(items);
    }
    do items.push(value());
    while (another(']'));
    return build.array(items);
  }

  function object(): T {
    const members: JsonMember<T>[] = [];
    const names = duplicates === 'reject' ? new Set<string>() : null;
    descend();
    if (text.charAt(at) === '}') {
      at += 1;
      depth -= 1;
      return build.object(members);
    }
    do members.push(member(names));
    while (another('}'));
    return build.object(members);
  }

  function member(names: Set<string> | null): JsonMember<T> {
    if (text.charAt(at) !== '"') unexpected();
    const start = at;
    const name = stringValue();
    if (names?.has(name)) fail('duplicate', start);
    names?.add(name);
    blanks();
    if (text.charAt(at) !== ':') unexpected();
    at += 1;
    blanks();
    return { name, value: value() };
  }

  function value(): T {
    switch (text.charAt(at)) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return build.string(stringValue());
      case 't':
        return word('true', true);
      case 'f':
        return word('false', false);
      case 'n':
        return word('null', null);
      default:
        return /[-\d]/.test(text.charAt(at)) ? number() : unexpected();
    }
  }

  blanks();
  const result = value();
  blanks();
  if (at < text.length) fail('after');
  return result;
}
