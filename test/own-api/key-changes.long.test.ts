import { once } from 'node:events';
import { constants, createGzip } from 'node:zlib';
import { expect, it } from 'vitest';
import { LocalRecords } from '../../src/core/kept-records.js';
import { KeyMakers } from '../../src/core/keys/key-makers.js';
import { KeyNotes } from '../../src/core/keys/key-notes.js';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import { createWaiting } from '../../src/core/keys/waiting.js';
import { STATIC } from '../../src/core/principal.js';
import { Turns } from '../../src/core/steps.js';
import type { OwnContext } from '../../src/own-api/call.js';
import { keyStream } from '../../src/own-api/handlers/keys.js';
import { KeyChanges } from '../../src/own-api/key-changes.js';
import { systemRandom } from '../../src/platform/system-ports.js';

it('a stream of the changes of keys costs at most 2 MB an hour over 10,000 keys of which 100 count', async () => {
  const time = { now: 0 };
  const clock = { now: () => time.now, monotonic: () => time.now };
  const registry = new KeyRegistry(() => 0);
  for (let n = 0; n < 10_000; n += 1)
    registry.create({ accessKey: systemRandom.bytes(16).toString('hex'), name: `Customer ${n}`, limitBytes: null });
  const counting = [...registry.entries()].slice(0, 100).map(({ accessKey }) => accessKey);
  const waiting = createWaiting(registry.changes);
  const seconds = 3_600;
  const controller = new AbortController();
  const context = {
    core: { keys: registry, freshenKeys: () => undefined },
    makers: new KeyMakers(new LocalRecords(), clock, registry),
    notes: new KeyNotes(new LocalRecords(), registry),
    backend: { replica: null },
    turns: new Turns(),
    clock,
    keyChanges: new KeyChanges(registry, { clock, random: systemRandom }),
    keysWaiting: {
      ...waiting,
      // In place of waiting, an hour goes by in which they count each second.
      async until(milliseconds: number) {
        for (const end = time.now + milliseconds; time.now < end; time.now += 1_000) {
          const usage = counting.map((accessKey, n) => ({
            accessKey,
            bytesUp: BigInt((time.now * (n + 7)) % 99_991),
            bytesDown: BigInt((time.now * (n + 3)) % 9_999_991),
            connections: 1n,
          }));
          registry.addUsage(usage);
        }
        if (time.now >= seconds * 1_000) controller.abort();
      },
    },
  } as unknown as OwnContext;
  const packed = createGzip({ flush: constants.Z_SYNC_FLUSH });
  let bytes = 0;
  packed.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  let events = 0;
  for await (const { data, id } of keyStream({ context, principal: STATIC }, '')(controller.signal)) {
    events += 1;
    packed.write(`id: ${id}\nevent: keys\ndata: ${data}\n\n`);
  }
  packed.end();
  await once(packed, 'end');
  expect(events).toBeGreaterThan(300);
  expect(bytes).toBeLessThan(2_000_000);
});
