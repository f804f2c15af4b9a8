import type { OwnInterface } from './own-interface.js';
import { fieldsOf } from './wire.js';

/** Gives a key a new secret and resolves to it: to the same one where it is sent again under the same `once`. Rejects with `ApiFailure`. */
export async function rotateKey(own: OwnInterface, key: string, once: string): Promise<string> {
  const path = `/keys/${encodeURIComponent(key)}/rotate`;
  return fieldsOf(await own.ask({ method: 'POST', path, body: {}, headers: { 'Idempotency-Key': once } })).text(
    'access_key',
  );
}
