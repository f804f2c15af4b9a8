import { ERROR_TABLE } from '../wire/errors.js';
import { isJsonObject, type JsonObject, type JsonValue } from '../wire/json/json.js';
import { jsonIn } from '../wire/json/json-in.js';
import type { OperationName } from '../wire/operations.js';
import type { Replacements } from './replacements.js';
import { stripJson } from './strip.js';

/** An envelope with everything taken out that is a secret, somebody's own, or another value at the next run. */
export function describeEnvelope(
  value: JsonValue,
  operation: OperationName | null,
  passed: { readonly requestBody: Buffer },
  replacements: Replacements,
): JsonValue {
  if (!isJsonObject(value)) return stripJson(value, replacements);
  const result: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === 'error' && typeof member === 'string') result.error = stripError(member, replacements);
    else if (name === 'data') result.data = describeData(member, operation, passed, replacements);
    else if (name === 'ok') result.ok = member;
    else Object.assign(result, stripJson({ [name]: member }, replacements));
  }
  return result;
}

const FIXED_ERRORS = Object.values(ERROR_TABLE).flatMap(({ text, except, withDetail }) =>
  withDetail === true ? [] : [text, ...Object.values(except ?? {}).map((each) => each.text)],
);
const OPEN_ERRORS = Object.values(ERROR_TABLE).flatMap(({ text, withDetail }) =>
  withDetail === true && text.startsWith('Failed') ? [text] : [],
);

function stripError(text: string, replacements: Replacements): string {
  if (FIXED_ERRORS.includes(text)) return text;
  const beginning = OPEN_ERRORS.find((each) => text.startsWith(each));
  return beginning === undefined ? replacements.value('text', text) : `<text starting:${beginning}>`;
}

const CONFIRMATIONS = new Set(['User updated', 'User removed']);

function describeData(
  data: JsonValue,
  operation: OperationName | null,
  passed: { readonly requestBody: Buffer },
  replacements: Replacements,
): JsonValue {
  if (typeof data === 'string') return describeText(data, operation, passed, replacements);
  switch (operation) {
    case 'login':
      return replaceMember(data, 'token', (token) => replacements.generated('session', token), replacements);
    case 'bulkCreateUsers':
      return Array.isArray(data)
        ? data.map((key) =>
            typeof key === 'string' ? replacements.generated('key', key) : stripJson(key, replacements),
          )
        : stripJson(data, replacements);
    case 'getStatus':
      return isJsonObject(data) ? { ...describeStatus(data, replacements) } : stripJson(data, replacements);
    case 'listAudit':
      return Array.isArray(data)
        ? data.map((entry) => describeAuditEntry(entry, replacements))
        : stripJson(data, replacements);
    default:
      return stripJson(data, replacements);
  }
}

function describeText(
  text: string,
  operation: OperationName | null,
  passed: { readonly requestBody: Buffer },
  replacements: Replacements,
): string {
  if (CONFIRMATIONS.has(text)) return text;
  if (operation === 'subscribe') return describeLink(text, replacements);
  if (operation !== 'createUser') return replacements.value('text', text);
  const body = jsonIn(passed.requestBody);
  const isNamed = body !== undefined && isJsonObject(body) && body.access_key === text;
  return isNamed ? replacements.value('key', text) : replacements.generated('key', text);
}

const KNOWN_QUERY = /^(?:\?(?:type=udp|owndns=true)(?:&(?:type=udp|owndns=true))*)?$/;

/** The parts of a share link (protocol: "Subscription"), each on its own. */
function describeLink(link: string, replacements: Replacements): string {
  const [whole, scheme = '', key = '', address = '', query = ''] =
    /^([a-z][a-z0-9+.-]*):\/\/(.*)@([^@?]*)(\?.*)?$/is.exec(link) ?? [];
  if (whole === undefined) return replacements.value('text', link);
  const shownScheme = scheme === 'ostp' ? scheme : replacements.value('text', scheme);
  const shownQuery = KNOWN_QUERY.test(query) ? query : replacements.value('text', query);
  const shown = [replacements.value('key', key), replacements.value('text', address)];
  return `${shownScheme}://${shown.join('@')}${shownQuery}`;
}

function describeStatus(data: JsonObject, replacements: Replacements): JsonObject {
  const { version, uptime_seconds, ...rest } = data;
  return {
    ...(version === undefined ? {} : { version: typeof version === 'string' ? '<version>' : version }),
    ...(uptime_seconds === undefined ? {} : { uptime_seconds: '<uptime>' }),
    ...asObject(stripJson(rest, replacements)),
  };
}

function describeAuditEntry(entry: JsonValue, replacements: Replacements): JsonValue {
  if (!isJsonObject(entry)) return stripJson(entry, replacements);
  const { id, time, ...rest } = entry;
  return {
    ...(typeof id === 'string' ? { id: replacements.generated('audit-id', id) } : {}),
    ...(typeof time === 'string' ? { time: '<time>' } : {}),
    ...asObject(stripJson(rest, replacements)),
  };
}

function replaceMember(
  data: JsonValue,
  name: string,
  replace: (text: string) => string,
  replacements: Replacements,
): JsonValue {
  if (!isJsonObject(data) || typeof data[name] !== 'string') return stripJson(data, replacements);
  const { [name]: text, ...rest } = data;
  return { [name]: replace(String(text)), ...asObject(stripJson(rest, replacements)) };
}

function asObject(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : {};
}
