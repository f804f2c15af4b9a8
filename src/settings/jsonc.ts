import { isUtf8 } from 'node:buffer';
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { type JsonObject, JsonSyntaxError, type JsonValue } from '../wire/json/json.js';
import { MAX_DEPTH } from '../wire/json/scanner.js';

/** Sentences by the parser's name for the error; the character found follows them. */
const PROBLEMS: Readonly<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'expected JSON',
  InvalidNumberFormat: 'expected a number',
  PropertyNameExpected: 'expected a member name',
  ValueExpected: 'expected a value',
  ColonExpected: "expected ':'",
  CommaExpected: "expected ','",
  CloseBraceExpected: "expected ',' or '}'",
  CloseBracketExpected: "expected ',' or ']'",
  EndOfFileExpected: 'expected the end',
  InvalidCommentToken: 'unexpected comment',
  UnexpectedEndOfComment: 'unterminated comment',
  UnexpectedEndOfString: 'unterminated string',
  UnexpectedEndOfNumber: 'unfinished number',
  InvalidUnicode: 'invalid escape in a string',
  InvalidEscapeCharacter: 'invalid escape in a string',
  InvalidCharacter: 'control character in a string',
  '<unknown ParseErrorCode>': 'expected JSON',
};

/** Matches a string, a comment of JSON with comments, or one that begins with `#`, which the parser does not know. */
const STRING_OR_COMMENT = /("(?:[^"\\\n]|\\.)*"|\/\*[\s\S]*?\*\/|\/\/[^\r\n]*)|#[^\r\n]*/g;

const STRING_COMMENT_OR_BRACKET = /"(?:[^"\\\n]|\\.)*"|\/\*[\s\S]*?\*\/|\/\/[^\r\n]*|[[\]{}]/g;

/**
 * Reads a small file of Keyway's own: JSON with comments, also after `#`. Integers are bigints of any size, as in
 * `parseJson`. Throws `JsonSyntaxError`, also for a repeated member.
 */
export function parseJsonc(bytes: Uint8Array): JsonValue {
  const text = Buffer.from(bytes)
    .toString('utf8')
    .replace(/^\ufeff/, ' ');
  if (!isUtf8(bytes)) throw problemAt(text, text.indexOf('\ufffd'), 'invalid UTF-8');
  const blanked = text.replaceAll(STRING_OR_COMMENT, (found, kept?: string) => kept ?? ' '.repeat(found.length));
  refuseDepth(text, blanked);
  const errors: ParseError[] = [];
  const root = parseTree(blanked, errors);
  for (const { error, offset } of errors) {
    const found = blanked.codePointAt(offset);
    const shown = found === undefined ? 'the end' : JSON.stringify(String.fromCodePoint(found));
    throw problemAt(text, offset, `${PROBLEMS[printParseErrorCode(error)]}, found ${shown}`);
  }
  // Without an error there is a value.
  return root === undefined ? null : valueIn(root, blanked);
}

/** Refuses a file of such depth that the parser, which recurses, would overflow the stack. */
function refuseDepth(text: string, blanked: string): void {
  let depth = 0;
  for (const { 0: found, index } of blanked.matchAll(STRING_COMMENT_OR_BRACKET)) {
    if (found === '{' || found === '[') depth += 1;
    else if (found === '}' || found === ']') depth -= 1;
    if (depth > MAX_DEPTH) throw problemAt(text, index, `nested deeper than ${MAX_DEPTH} levels`);
  }
}

function problemAt(text: string, offset: number, message: string): JsonSyntaxError {
  const lines = text.slice(0, offset).split('\n');
  return new JsonSyntaxError('parse', message, lines.length, [...(lines.at(-1) ?? '')].length + 1);
}

function valueIn(node: Node, text: string): JsonValue {
  const { type, offset, length, children = [] } = node;
  if (type === 'array') return children.map((child) => valueIn(child, text));
  if (type === 'object') return objectOf(children, text);
  if (type !== 'number') return node.value;
  const lexeme = text.slice(offset, offset + length);
  return /^(?:0|-?[1-9]\d*)$/.test(lexeme) ? BigInt(lexeme) : Number(lexeme);
}

function objectOf(properties: readonly Node[], text: string): JsonObject {
  const members: JsonObject = Object.create(null);
  for (const { children: [name, value] = [] } of properties) {
    if (name === undefined || value === undefined) continue;
    if (name.value in members) throw problemAt(text, name.offset, `duplicate member ${JSON.stringify(name.value)}`);
    members[name.value] = valueIn(value, text);
  }
  return members;
}
