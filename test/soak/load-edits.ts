import { openLoadConnection } from './load-connection.js';
import { API, BEARER, createAsking, JSON_BEARER, type Lane, type Lanes } from './load-lane.js';
import { editFile } from './load-server.js';

/** Edits names in the file by hand; the changes that are under way when it is done come on top. */
export function editor(lanes: Lanes): Lane {
  let edits = 0;
  return {
    step: () =>
      lanes.gate.alone(async () => {
        const key = lanes.handKeys[lanes.choose(lanes.handKeys.length)] ?? '';
        const expected = lanes.ledger.get(key);
        if (expected === undefined) return;
        const name = `${key} edit ${edits++}`;
        const began = performance.now();
        const change = (text: string) => text.replace(JSON.stringify(expected.name), JSON.stringify(name));
        await editFile(lanes.server.file, change, lanes.choose(3) === 0);
        lanes.measured('edit', performance.now() - began);
        lanes.ledger.set(key, { ...expected, name });
      }),
    close: () => undefined,
  };
}

/** Replaces the whole file over the API with what it holds, and asks the process to read again. */
export function replacer(lanes: Lanes): Lane {
  const connection = openLoadConnection(lanes.server.api);
  const ask = createAsking(lanes, connection);
  return {
    async step() {
      if (lanes.choose(2) === 0) {
        lanes.server.running.child.kill('SIGHUP');
        return;
      }
      await lanes.gate.alone(async () => {
        const path = `${API}/server/config`;
        const answer = await ask('config', { method: 'GET', path, headers: BEARER });
        const { data } = JSON.parse(answer?.body.toString() ?? '{}') as { data?: object };
        if (data === undefined) return;
        const body = JSON.stringify({ ...data, replaced: lanes.choose(1_000_000) });
        await ask('config', { method: 'PUT', path, headers: JSON_BEARER, body });
      });
    },
    close: connection.close,
  };
}
