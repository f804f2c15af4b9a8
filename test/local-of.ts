import type { LocalBackend } from '../src/homes/file/backend.js';
import type { Gateway } from '../src/index.js';

/** The backend of a gateway over a configuration file or in memory, which those of the tests are. */
export function localOf(gateway: Gateway): LocalBackend {
  if (gateway.local === null) throw new Error('the state of this gateway lives elsewhere');
  return gateway.local;
}
