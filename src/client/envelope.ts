import { isUtf8 } from 'node:buffer';
import { isJsonObject, type JsonValue, jsonIn, LAST_WINS } from '../wire/json/json.js';
import {
  another,
  createScanner,
  enter,
  expectEnd,
  expectName,
  skipValue,
  stringValue,
  Token,
  toValue,
} from '../wire/json/scanner.js';
import { type Answer, isSuccess } from './call.js';

/** An envelope: the data of a success, or a refusal. */
export type Envelope =
  | { readonly ok: true; readonly data: JsonValue }
  | { readonly ok: false; readonly status: number; readonly text: string };

/**
 * Returns the envelope of an answer; null if it has none (protocol: "Response envelope"). A proxy's page, a panel's
 * HTML with 200, a redirect and half a body are never data.
 */
export function readEnvelope({ status, body }: Answer): Envelope | null {
  if (isRedirect(status)) return null;
  const value = jsonIn(body, LAST_WINS);
  if (value === undefined || !isJsonObject(value)) return null;
  if (value.ok === true) return isSuccess(status) && value.data !== undefined ? { ok: true, data: value.data } : null;
  if (value.ok !== false || typeof value.error !== 'string') return null;
  return { ok: false, status, text: value.error };
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** Describes an answer without an envelope, without its content. */
export function notAnEnvelope({ status, headers, body }: Answer, length = body.length): string {
  const type = headers.get('content-type')?.split(';')[0] ?? 'no content type';
  const shown = /^[\w.+/ -]{1,60}$/.test(type) ? type : 'an odd content type';
  if (isRedirect(status)) return `it answered ${status}, a redirect${leadingTo(headers.get('location'))}`;
  const what = [`${length} bytes`, shown, ...odditiesOf(headers, body)].join(', ');
  return `it answered ${status} (${what}) and no JSON envelope`;
}

/** Returns the target of a redirect, as far as it may be shown. */
function leadingTo(location: string | undefined): string {
  if (location === undefined || location === '') return ' that leads nowhere';
  const shown = location.slice(0, 200).replaceAll(/[^\x21-\x7e]/g, '?');
  return ` to ${shown}: give the address that it leads to`;
}

/** Names likely reasons why JSON cannot be read. */
function odditiesOf(headers: ReadonlyMap<string, string>, body: Buffer): readonly string[] {
  const coding = headers.get('content-encoding') ?? 'identity';
  const isCompressed = coding !== 'identity' || (body[0] === 0x1f && body[1] === 0x8b);
  const named = /^[\w, -]{1,30}$/.test(coding) && coding !== 'identity' ? coding : 'gzip';
  return [
    ...(isCompressed ? [`compressed with ${named}, which nobody asked for`] : []),
    ...(body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? ['with a byte order mark'] : []),
  ];
}

/** The answer does not come from the API. */
export class NoEnvelope extends Error {
  /** True if the server may have done what was asked. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, mayHaveArrived = false) {
    super(message);
    this.mayHaveArrived = mayHaveArrived;
  }
}

/**
 * Returns the bytes of a success's data, an object, as they are in the answer's body; null without an object. Throws
 * `JsonSyntaxError`.
 */
export function dataBytes(body: Buffer): Buffer | null {
  if (!isUtf8(body)) return null;
  const scanner = createScanner(body, false);
  if (scanner.kind !== Token.openObject) return null;
  let data: Buffer | null = null;
  let isOk = false;
  for (let more = enter(scanner); more; more = another(scanner, Token.closeObject)) {
    expectName(scanner);
    const name = stringValue(scanner);
    toValue(scanner);
    const { start } = scanner;
    const kind: number = scanner.kind;
    skipValue(scanner);
    if (name === 'ok') isOk = kind === Token.true;
    if (name === 'data') data = kind === Token.openObject ? body.subarray(start, scanner.lastEnd) : null;
  }
  expectEnd(scanner);
  return isOk ? data : null;
}
