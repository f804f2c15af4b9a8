import { createGateway } from '../../../src/gateway/create-gateway.js';
import { type DatabaseBackend, openDatabaseBackend } from '../../../src/homes/database/backend.js';
import { DEFAULT_ADDRESSES } from '../../../src/lab/format/addresses.js';
import type { CounterState, Scenario } from '../../../src/lab/format/scenario.js';
import { givenFile, type PlayOptions, type Stage } from '../../../src/lab/play/play.js';
import { systemClock, systemRandom } from '../../../src/platform/system-ports.js';
import { resetKey } from '../../ports/key-changes.js';
import { query } from './database.js';

const EMPTIED = [
  'keys',
  'counters',
  'connections',
  'batches',
  'reports',
  'sessions',
  'audit',
  'versions',
  'gateways',
  'kept_records',
];

/** Makes a database what it was before the first Keyway but for the schema, which stays. */
export async function emptyDatabase(url: string): Promise<void> {
  // Emptying a table by `truncate` makes files anew, each index's too, which takes longer than a scenario.
  await query(url, EMPTIED.map((table) => `delete from keyway.${table}`).join(';'));
}

/** A gateway over a database that stands in a scenario's given state. */
export async function stageOverDatabase(scenario: Scenario, revision: string, url: string, panelDir: string) {
  const backend = await openDatabaseBackend({
    url,
    listens: false,
    lookUpMilliseconds: 1,
    clock: systemClock,
    random: systemRandom,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  });
  try {
    const file = givenFile(scenario, DEFAULT_ADDRESSES);
    if (file !== undefined) await backend.document.put(Buffer.from(file));
    const { listener } = scenario.given;
    const { password_hash: passwordHash, ...rest } = listener ?? {};
    const app = await createGateway({
      mounts: [{ revision }],
      backend,
      panelDir,
      loginGuard: 'off',
      ...(scenario.given.server === undefined ? {} : { announced: scenario.given.server }),
      ...(listener === undefined ? {} : { listener: passwordHash === undefined ? rest : { ...rest, passwordHash } }),
    });
    const stage = createStage(backend);
    await stage.counters(scenario.given.counters ?? []);
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    const mount = app.keyway.mounts[0];
    if (mount === undefined) throw new Error('a gateway without a mount');
    const options: Pick<PlayOptions, 'target' | 'stage' | 'addresses'> = {
      target: { origin, apiRoot: mount.api, base: mount.base },
      addresses: DEFAULT_ADDRESSES,
      stage,
    };
    return { ...options, close: () => app.close() };
  } catch (error) {
    await backend.close();
    throw error;
  }
}

function createStage(backend: DatabaseBackend): Stage {
  return {
    async counters(list: readonly CounterState[]) {
      for (const { access_key: accessKey, bytes_up: bytesUp, bytes_down: bytesDown, connections } of list) {
        if (backend.keys.get(accessKey)?.counters != null) await resetKey(backend, accessKey);
        const entries = [{ accessKey, bytesUp, bytesDown, connections }];
        const { unknownKeys } = await backend.count({ id: null, entries }, 'durable');
        if (unknownKeys.length > 0) throw new Error(`counters of a key that is not registered: ${accessKey}`);
      }
    },
    // Whoever edits a file by hand puts a document here.
    handEdit: (text) => backend.document.put(Buffer.from(text)),
    settle: async () => undefined,
    breakFile: async () => {
      throw new Error('there is no file to break');
    },
    configText: async () => (await backend.document.text()).toString(),
  };
}
