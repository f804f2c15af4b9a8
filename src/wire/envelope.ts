import { type Encodable, encodeJson } from './json/write-json.js';

/** The content type of every JSON answer, without a charset (design: "Content types"). */
export const JSON_TYPE = 'application/json';

const OPENING = '{"ok":true,"data":';

/** Returns a success envelope (protocol: "Response envelope"). */
export function successEnvelope(data: Encodable): string {
  return successEnvelopeOf(encodeJson(data));
}

/** Returns a success envelope around data that is already JSON text. */
export function successEnvelopeOf(json: string): string {
  return `${OPENING}${json}}`;
}

/** Does the same for large data: pieces of bytes, which are not copied. */
export function successEnvelopeOfPieces(json: readonly Buffer[]): readonly Buffer[] {
  return [Buffer.from(OPENING), ...json, Buffer.from('}')];
}

/** Returns a failure envelope. */
export function failureEnvelope(error: string): Buffer {
  return Buffer.from(JSON.stringify({ ok: false, error }));
}
