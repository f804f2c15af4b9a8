import { type ApiFailure, hasFailed } from './failure.js';
import type { OwnInterface } from './own-interface.js';
import { fieldsOf } from './wire.js';

/** A new secret, and why it is in memory alone; null where it is saved. */
export interface Rotated {
  readonly key: string;
  readonly unsaved: ApiFailure | null;
}

/** Gives a key a new secret and resolves to it: to the same one where it is sent again under the same `once`. Rejects with `ApiFailure`. */
export async function rotateKey(own: OwnInterface, key: string, once: string): Promise<Rotated> {
  const path = `/keys/${encodeURIComponent(key)}/rotate`;
  const keyIn = (data: unknown) => fieldsOf(data).text('access_key');
  try {
    const data = await own.ask({ method: 'POST', path, body: {}, headers: { 'Idempotency-Key': once } });
    return { key: keyIn(data), unsaved: null };
  } catch (error) {
    if (!hasFailed(error, 'inMemory')) throw error;
    return { key: keyIn(error.envelope.data), unsaved: error };
  }
}
