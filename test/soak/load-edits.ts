import { setTimeout as sleep } from 'node:timers/promises';
import { openLoadConnection } from './load-connection.js';
import { API, BEARER, createAsking, JSON_BEARER, type Lane, type Lanes } from './load-lane.js';
import { editFile } from './load-server.js';

/** Milliseconds in which an edit becomes live, on a machine that has more to do. */
const LIVE_WITHIN = 5_000;
const MOST_EDITS = 5;

/**
 * Edits names in the file by hand; the changes that are under way when it is done come on top. Where clients reset their
 * connections, a change of theirs may be written in the very moment of the edit, whatever the gate says: of two that replace a
 * file at once the later stays. There an edit counts once it is live, and is made again until it is.
 */
export function editor(lanes: Lanes): Lane {
  const connection = openLoadConnection(lanes.server.api);
  const ask = createAsking(lanes, connection);
  let edits = 0;

  async function becomesLive(key: string, name: string): Promise<boolean> {
    for (const end = performance.now() + LIVE_WITHIN; performance.now() < end; await sleep(50)) {
      const answer = await ask('read', { method: 'GET', path: `${API}/users/${key}`, headers: BEARER });
      const { data } = JSON.parse(answer?.body.toString() ?? '{}') as { data?: { name?: unknown } };
      if (data?.name === name) return true;
    }
    return false;
  }

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
        for (let made = 1; lanes.hostile && !(await becomesLive(key, name)); made += 1) {
          if (made === MOST_EDITS) return lanes.failed(`the edit of ${key} did not become live, made ${made} times`);
          await editFile(lanes.server.file, change, false);
        }
        lanes.ledger.set(key, { ...expected, name });
      }),
    close: connection.close,
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
