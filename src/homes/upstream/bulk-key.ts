import type { Purpose, Sent, UpstreamServer } from '../../client/server.js';
import { DomainError } from '../../core/errors.js';
import type { AccessKey, KeySnapshot } from '../../core/model.js';
import type { ClockPort } from '../../core/ports.js';
import { changeDocument } from '../../document/change.js';
import { readDocument } from '../../document/document.js';
import { tellsField } from '../../wire/traits/snapshot.js';
import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import { refuseLater } from './configuration.js';
import { expectAllStored } from './empty-key.js';
import { type KeyState, sameState, stateOf } from './key-state.js';
import { inKey } from './struck-configuration.js';

export interface BulkKeyPorts {
  readonly clock: Pick<ClockPort, 'monotonic'>;
  wait(milliseconds: number): Promise<unknown>;
}

/** Servers that make keys in bulk answer `/users/bulk` for that alone: it is not the path of the key of this name. */
const BULK = 'bulk';
/** Between two looks whether the server has taken its file, ms. */
const LOOKS = 1_000;
/** Between two lists for those who ask without a credential, ms. */
const STRANGERS_GAP = 30_000;

/**
 * The same server, with the key named `bulk` read from its list, and renamed and removed by its configuration. Where that is no
 * way either, that rejects with `configRefused`.
 */
export function withBulkKey(server: UpstreamServer, { clock, wait }: BulkKeyPorts): UpstreamServer {
  async function isOutOfReach(accessKey: string): Promise<boolean> {
    return accessKey === BULK && (server.line() ?? (await server.find())).capabilities.bulk === true;
  }

  let last: Sent<KeySnapshot | undefined> | null = null;

  const listed = async (purpose?: Purpose): Promise<Sent<KeySnapshot | undefined>> => {
    // Strangers ask by polls, and must not cost the server more lists than others do.
    if (purpose === 'poll' && last !== null && clock.monotonic() - last.sentAt < STRANGERS_GAP) return last;
    const { value, ...sent } = await server.listUsers(purpose === undefined ? {} : { purpose });
    last = { ...sent, value: value.find(({ accessKey }) => accessKey === BULK) };
    return last;
  };

  /** Writes the key into the configuration, and waits until the server has read that. */
  async function store(wanted: KeyState): Promise<Sent<void>> {
    await refuseLater(server);
    const { value } = await server.listUsers();
    if (!value.some(({ accessKey }) => accessKey === BULK)) throw new DomainError('userNotFound');
    const { id, storing } = await server.find();
    // Their root list ends the reading of the file, and what is in the inbounds alone may be deleted.
    if (!storing.startsWithKeys) throw new DomainError('configRefused', outOfReach(id));
    const { document } = readDocument((await server.getConfig()).value);
    await expectAllStored(server, document, value);
    const keys = new Map([[BULK, wanted && inKey(wanted, server.texts.written)]]);
    const sent = await server.putConfig(changeDocument(document, { keys }).bytes);
    await taken(wanted);
    return sent;
  }

  async function taken(wanted: KeyState): Promise<void> {
    const { snapshot } = await server.find();
    const until = clock.monotonic() + SETTLED_AFTER;
    for (;;) {
      const found = stateOf((await listed()).value);
      if (sameState(found, wanted, (name) => tellsField(snapshot, name))) return;
      if (clock.monotonic() > until) throw new DomainError('configRefused', NOT_TAKEN);
      await wait(LOOKS);
    }
  }

  return {
    ...server,
    getUser: async (accessKey, purpose) =>
      (await isOutOfReach(accessKey)) ? listed(purpose) : server.getUser(accessKey, purpose),
    updateUser: async (key: AccessKey) => ((await isOutOfReach(key.accessKey)) ? store(key) : server.updateUser(key)),
    deleteUser: async (accessKey) => ((await isOutOfReach(accessKey)) ? store(null) : server.deleteUser(accessKey)),
  };
}

function outOfReach(line: string): string {
  return `no path of the API of line ${line} names the key "bulk", and its servers do not take it from their configuration: its limit can be set`;
}

const NOT_TAKEN =
  'no path of the API names the key "bulk", and what was written of it into the configuration was not there after 7 s: somebody else may have written it at the same time; try again';
