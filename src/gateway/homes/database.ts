import { DATABASE_PROBLEMS, openDatabaseBackend } from '../../homes/database/backend.js';
import { databaseFamilies } from '../../ops/database-metrics.js';
import type { HomePlaceOf } from '../../settings/home.js';
import type { ComposeOptions } from '../options.js';
import { type Home, homeOver } from './home.js';

/** Opens the state in a database. Rejects with an `Error` for the user. */
export async function openDatabaseHome(place: HomePlaceOf<'database'>, options: ComposeOptions): Promise<Home> {
  const { observer, progress: _, ...shared } = options;
  const observe = observer?.database;
  const backend = await openDatabaseBackend({
    ...shared,
    ...place,
    ...(observe === undefined ? {} : { observe }),
  });
  return {
    ...homeOver(backend),
    hasAllKeys: (options.asked ?? null) === null,
    // A listener in a state that gateways share is not the address of any one of them.
    bind: () => undefined,
    identity: () => backend.status().identity,
    problemKinds: DATABASE_PROBLEMS,
    metrics: () => databaseFamilies(backend.status),
    parts: { database: backend },
  };
}
