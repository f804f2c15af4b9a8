import type { ErrorTable, Failure } from '../../wire/errors.js';
import { isJsonObject, type JsonObject, type JsonValue, jsonIn } from '../../wire/json/json.js';
import { type SchemaNode, schemaNodeFor } from '../../wire/schema-check.js';
import type { Recorded } from '../../wire/schemas.js';
import type { Replacements } from '../format/replacements.js';
import { isSecretMember, PROGRAM_NAMES, stripJson } from '../format/strip.js';

/** The context in which the values of an exchange are described. */
export interface Describing {
  readonly replacements: Replacements;
  readonly errors: ErrorTable;
  /** The body of the request, as it was sent. */
  readonly requestBody: Buffer;
}

/**
 * Returns an envelope without secrets, private values, and values that differ in the next run. `schema` is that of its
 * data; null if nothing is known about it.
 */
export function describeEnvelope(value: JsonValue, schema: SchemaNode | null | undefined, by: Describing): JsonValue {
  if (!isJsonObject(value)) return stripJson(value, by.replacements);
  const result: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === 'error' && typeof member === 'string') result.error = describeError(member, by);
    else if (name === 'data') result.data = describeValue(member, schema, by);
    else if (name === 'ok') result.ok = member;
    else Object.assign(result, stripJson({ [name]: member }, by.replacements));
  }
  return result;
}

function describeError(text: string, { errors, replacements }: Describing): string {
  const rows = Object.values(errors);
  if (rows.some((row) => row.withDetail !== true && row.text === text)) return text;
  const open = rows.find(
    (row) => row.withDetail === true && row.text.startsWith('Failed') && text.startsWith(row.text),
  );
  if (open !== undefined) return `<text starting:${open.text}>`;
  return isOwnWords(text, rows) ? text : replacements.value('text', text);
}

/** Words of answers that are in no table: about an unserved path, or a member of a known body. */
const WORDS = `not found allowed here only expected a an of or and is but in member body json object array string
  integer unsigned null true false boolean number missing unknown use method methods get head post put delete patch
  options`;

/** Tells whether a text consists of the API's own words, and so contains nothing private. */
function isOwnWords(text: string, rows: readonly Failure[]): boolean {
  const known = new Set(wordsIn([WORDS, ...PROGRAM_NAMES, ...rows.map((row) => row.text)].join(' ')));
  return wordsIn(text).every((word) => known.has(word) || word === '64-bit');
}

function wordsIn(text: string): readonly string[] {
  return text.toLowerCase().match(/[^\s:;,.'"()/]+/g) ?? [];
}

/**
 * Describes a value by its schema: names and texts of the schema belong to the API and stay, and the schema says which
 * placeholder replaces a value that the server made. Anything that it does not describe is private.
 */
export function describeValue(
  value: JsonValue,
  schema: SchemaNode | null | undefined,
  by: Describing,
  member = '',
): JsonValue {
  const known = schemaNodeFor(value, schema);
  const shown = describeRecorded(value, known.recorded, by);
  if (shown !== null) return shown;
  if (isSecretMember(member)) return stripJson(value, by.replacements, member);
  if (typeof value === 'string' && known.const === value) return value;
  const { items, properties } = known;
  if (Array.isArray(value) && items !== undefined)
    return value.map((each: JsonValue) => describeValue(each, items, by, member));
  if (!isJsonObject(value) || properties === undefined) return stripJson(value, by.replacements, member);
  const result: JsonObject = Object.create(null);
  for (const [name, each] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) result[name] = describeValue(each, properties[name], by, name);
    else Object.assign(result, stripJson({ [name]: each }, by.replacements));
  }
  return result;
}

/** Returns the placeholder of a value that differs in the next run; null for a value that is shown by its form. */
function describeRecorded(value: JsonValue, recorded: unknown, by: Describing): string | null {
  if (recorded === 'uptime') return '<uptime>';
  if (typeof value !== 'string') return null;
  switch (
    recorded as Recorded | undefined // Nothing else is ever put there.
  ) {
    case 'version':
      return '<version>';
    case 'time':
      return '<time>';
    case 'session':
      return by.replacements.generated('session', value);
    case 'audit-id':
      return by.replacements.generated('audit-id', value);
    case 'key':
      return isNamedBy(by.requestBody, value)
        ? by.replacements.value('key', value)
        : by.replacements.generated('key', value);
    case 'share link':
      return describeLink(value, by.replacements);
    default:
      return null;
  }
}

function isNamedBy(requestBody: Buffer, accessKey: string): boolean {
  const body = jsonIn(requestBody);
  return isJsonObject(body) && body.access_key === accessKey;
}

const KNOWN_QUERY = /^(?:\?(?:type=udp|owndns=true)(?:&(?:type=udp|owndns=true))*)?$/;

/** Describes the parts of a share link (protocol: "Subscription") one by one. */
function describeLink(link: string, replacements: Replacements): string {
  const [whole, scheme = '', key = '', address = '', query = ''] =
    /^([a-z][a-z0-9+.-]*):\/\/(.*)@([^@?]*)(\?.*)?$/is.exec(link) ?? [];
  if (whole === undefined) return replacements.value('text', link);
  const shownScheme = scheme === 'ostp' ? scheme : replacements.value('text', scheme);
  const shownQuery = KNOWN_QUERY.test(query) ? query : replacements.value('text', query);
  const shown = [replacements.value('key', key), replacements.value('text', address)];
  return `${shownScheme}://${shown.join('@')}${shownQuery}`;
}
