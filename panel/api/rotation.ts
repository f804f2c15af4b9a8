import type { OwnInterface } from './own-interface.js';
import { fieldsOf } from './wire.js';

/** The wishes for a new secret. */
interface AskedRotation {
  /** Seconds for which the old key goes on. */
  readonly grace: number;
  /** Until then the old subscription address leads to the new key, in milliseconds since the epoch; null for not at all. */
  readonly keepAddressUntil: number | null;
}

/** A key that has another secret. */
export interface Rotated {
  /** The new key. */
  readonly key: string;
  /** The end of the old one, in milliseconds since the epoch. */
  readonly oldEndsAt: number;
}

/** Gives a key a new secret. Rejects with `ApiFailure`. */
export async function rotateKey(
  own: OwnInterface,
  key: string,
  { grace, keepAddressUntil }: AskedRotation,
): Promise<Rotated> {
  const until = keepAddressUntil === null ? {} : { keep_address_until: new Date(keepAddressUntil).toISOString() };
  const path = `/keys/${encodeURIComponent(key)}/rotate`;
  const { text, time } = fieldsOf(await own.ask({ method: 'POST', path, body: { grace_seconds: grace, ...until } }));
  return { key: text('access_key'), oldEndsAt: time('old_ends_at') };
}
