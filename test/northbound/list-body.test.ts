import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { KeyRegistry } from '../../src/core/keys/registry.js';
import { acceptedCoding, createListBody } from '../../src/northbound/list-body.js';
import type { Revision } from '../../src/wire/traits/revision.js';
import { removeFrom } from '../core/keys/remove-from.js';

const clockAt = (time: { now: number }) => ({ now: () => time.now, monotonic: () => time.now });

function plainBody(registry: KeyRegistry, { snapshot, online }: Pick<Revision, 'snapshot' | 'online'>): string {
  const items = registry.ordered().map((key) => snapshot.encode(key, online.isOnline(key.counters)));
  return `{"ok":true,"data":[${items.join(',')}]}`;
}

const aChange = fc.tuple(fc.nat(30), fc.constantFrom('create', 'remove', 'usage', 'update'), fc.nat(5));

describe('the list body', () => {
  it('after any changes equals the list rendered from nothing, in every revision', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...REVISIONS),
        fc.array(fc.array(aChange, { maxLength: 8 }), { maxLength: 12 }),
        (revision, rounds) => {
          const time = { now: 0 };
          const registry = new KeyRegistry(() => 0);
          const list = createListBody(registry, revision, clockAt(time));
          for (const round of rounds) {
            for (const [number, what, value] of round) {
              const accessKey = `ключ-${number}`;
              const record = { accessKey, name: value > 3 ? `"n${value}` : null, limitBytes: BigInt(value) };
              if (what === 'create') registry.create(record);
              if (what === 'remove') removeFrom(registry, accessKey);
              if (what === 'update') registry.update(record);
              const traffic = {
                bytesUp: BigInt(value),
                bytesDown: 10n ** BigInt(value),
                connections: BigInt(value % 2),
              };
              if (what === 'usage') registry.setCounters(accessKey, traffic);
            }
            time.now += 201;
            expect(list.read().toString()).toBe(plainBody(registry, revision));
          }
        },
      ),
    );
  });

  it('given back or not, the bytes of a list stay as they were until then', () => {
    const longKey = (number: number) => `${'k'.repeat(4000)}-${number}`;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(40), fc.constantFrom('create', 'remove', 'usage'), fc.nat(3)), { maxLength: 40 }),
        (steps) => {
          const time = { now: 0 };
          const registry = new KeyRegistry(() => 0);
          const [revision] = REVISIONS;
          if (revision === undefined) throw new Error('no revision');
          const list = createListBody(registry, revision, clockAt(time));
          for (let number = 0; number < 20; number += 1) {
            registry.create({ accessKey: longKey(number), name: null, limitBytes: null });
          }
          const held: { readonly body: Buffer; readonly text: string }[] = [];
          for (const [number, what, howManyHeld] of steps) {
            const accessKey = longKey(number);
            if (what === 'create') registry.create({ accessKey, name: null, limitBytes: null });
            if (what === 'remove') removeFrom(registry, accessKey);
            const traffic = { bytesUp: 1n, bytesDown: BigInt(number * howManyHeld), connections: 0n };
            if (what === 'usage') registry.setCounters(accessKey, traffic);
            time.now += 201;
            const body = list.read();
            expect(body.toString()).toBe(plainBody(registry, revision));
            held.push({ body, text: body.toString() });
            while (held.length > howManyHeld) list.giveBack(held.shift()?.body ?? body);
            for (const { body: heldBody, text } of held) expect(heldBody.toString() === text).toBe(true);
          }
        },
      ),
    );
  });

  it('that is held stays, however many later ones are built', () => {
    const time = { now: 0 };
    const registry = new KeyRegistry(() => 0);
    const [revision] = REVISIONS;
    if (revision === undefined) throw new Error('no revision');
    const list = createListBody(registry, revision, clockAt(time));
    const accessKey = 'k'.repeat(40_000);
    registry.create({ accessKey, name: null, limitBytes: null });
    const first = list.read();
    const text = first.toString();
    for (let round = 1; round < 5; round += 1) {
      registry.setCounters(accessKey, { bytesUp: BigInt(round), bytesDown: 0n, connections: 0n });
      time.now += 201;
      list.read();
      expect(first.toString() === text).toBe(true);
    }
  });

  it('that is given back gives its memory to a later one', () => {
    const time = { now: 0 };
    const registry = new KeyRegistry(() => 0);
    const [revision] = REVISIONS;
    if (revision === undefined) throw new Error('no revision');
    const list = createListBody(registry, revision, clockAt(time));
    const memories = new Set<ArrayBufferLike>();
    for (let round = 0; round < 20; round += 1) {
      const accessKey = `${'k'.repeat(40_000)}-${round % 3}`;
      registry.create({ accessKey, name: null, limitBytes: null });
      time.now += 201;
      const body = list.read();
      if (round >= 4) memories.add(body.buffer);
      list.giveBack(body);
    }
    expect(memories.size).toBeLessThanOrEqual(3);
  });

  it('shows an answered change at once, and what the data plane reports within 200 ms', () => {
    const time = { now: 1000 };
    const registry = new KeyRegistry(() => 0);
    const [revision] = REVISIONS;
    if (revision === undefined) throw new Error('no revision');
    const list = createListBody(registry, revision, clockAt(time));
    registry.create({ accessKey: 'a', name: null, limitBytes: null });
    const before = list.read();
    registry.setCounters('a', { bytesUp: 1n, bytesDown: 1n, connections: 1n });
    time.now += 199;
    expect(list.read()).toBe(before);
    time.now += 1;
    const withUsage = list.read();
    expect(withUsage.toString()).toContain('"bytes_up":1');
    registry.setCounters('a', { bytesUp: 2n, bytesDown: 2n, connections: 1n });
    registry.create({ accessKey: 'b', name: null, limitBytes: null });
    expect(list.read().toString()).toContain('"b"');
    expect(list.read().toString()).toContain('"bytes_up":2');
  });

  it('is compressed once per change and decompresses to the plain body', async () => {
    const registry = new KeyRegistry(() => 0);
    const [revision] = REVISIONS;
    if (revision === undefined) throw new Error('no revision');
    const list = createListBody(registry, revision, clockAt({ now: 0 }));
    registry.create({ accessKey: 'a', name: null, limitBytes: null });
    const first = await list.compressed('br');
    expect(await list.compressed('br')).toBe(first);
    expect(brotliDecompressSync(first)).toEqual(list.read());
    removeFrom(registry, 'a');
    expect(gunzipSync(await list.compressed('gzip')).toString()).toBe('{"ok":true,"data":[]}');
  });
});

it.each([
  [undefined, null],
  ['gzip', 'gzip'],
  ['gzip, br', 'br'],
  ['br;q=0, gzip;q=0.5', 'gzip'],
  ['GZIP', 'gzip'],
  ['identity', null],
  ['gzip;q=0', null],
])('Accept-Encoding %j gives %j', (header, coding) => {
  expect(acceptedCoding(header)).toBe(coding);
});
