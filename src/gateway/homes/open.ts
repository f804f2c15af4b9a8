import type { HomePlace, HomePlaceOf } from '../../settings/home.js';
import type { ComposeOptions } from '../options.js';
import type { Home } from './home.js';

type Open<Kind extends HomePlace['kind']> = (place: HomePlaceOf<Kind>, options: ComposeOptions) => Promise<Home>;

/** Opens each kind of home; its module is loaded on demand. */
const OPENERS: { readonly [Kind in HomePlace['kind']]: Open<Kind> } = {
  file: async (place, options) => (await import('./local.js')).openFileHome(place, options),
  memory: async (place, options) => (await import('./local.js')).openMemoryHome(place, options),
  upstream: async (place, options) => (await import('./upstream.js')).openUpstreamHome(place, options),
  test: async (place, options) => (await import('./test-state.js')).openTestHome(place, options),
  database: async (place, options) => (await import('./database.js')).openDatabaseHome(place, options),
};

/** Opens the home at a place. Rejects with an `Error` for the user. */
export async function openHome(options: ComposeOptions): Promise<Home> {
  return open(options.home, options);
}

function open<Kind extends HomePlace['kind']>(place: HomePlaceOf<Kind>, options: ComposeOptions): Promise<Home> {
  return OPENERS[place.kind](place, options);
}
