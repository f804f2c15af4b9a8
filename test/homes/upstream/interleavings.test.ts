import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccessKey } from '../../../src/core/model.js';
import { createKey, deleteKey, updateKey } from '../../ports/key-changes.js';
import { held, key, type Staged, staged } from './staged.js';

const NAMES = ['a', 'b', 'c'] as const;

/** What happens to a key, each value of its own so that it can be told who was last. */
const write = fc.record({
  kind: fc.constantFrom('create' as const, 'limit' as const, 'delete' as const, 'lose' as const),
  name: fc.constantFrom(...NAMES),
});
const step = fc.oneof(
  { weight: 4, arbitrary: write },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('list' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const), name: fc.constantFrom(...NAMES) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pass' as const), milliseconds: fc.nat(4_000) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** How long calls take; lists up to 10 s. */
const trips = fc.array(fc.record({ there: fc.nat(300), back: fc.nat(300), slow: fc.boolean() }), {
  minLength: 8,
  maxLength: 30,
});

/** Milliseconds of a write above which a server may lose it (protocol: "What servers store"). */
const SLOW = 20;

/** What was acknowledged last of each key. */
type Acknowledged = Map<string, AccessKey | null>;

async function play(
  steps: readonly Step[],
  stage: Staged,
  acknowledged: Acknowledged,
  mayLose: boolean,
): Promise<void> {
  const { world, server, backend } = stage;
  const under: Promise<unknown>[] = [];
  let value = 0n;
  for (const asked of steps) {
    switch (asked.kind) {
      case 'pass':
        await world.pass(asked.milliseconds);
        break;
      case 'list':
        under.push(Promise.resolve(backend.replica?.freshen()));
        break;
      case 'read':
        under.push(Promise.resolve(backend.live?.key(asked.name)));
        break;
      case 'lose':
        if (mayLose && server.mayLose(asked.name)) server.lose(asked.name);
        break;
      default:
        value += 1n;
        under.push(change(asked.kind, asked.name, value));
    }
    expectNothingTakenBack(stage, acknowledged);
  }
  await world.until(Promise.all(under));
  expectNothingTakenBack(stage, acknowledged);

  async function change(kind: 'create' | 'limit' | 'delete', name: string, limitBytes: bigint): Promise<void> {
    try {
      if (kind === 'create') await createKey(backend, key(name, limitBytes));
      else if (kind === 'limit') await updateKey(backend, name, { limitBytes });
      else await deleteKey(backend, name);
      acknowledged.set(name, kind === 'delete' ? null : key(name, limitBytes));
    } catch (error) {
      expect(error).toMatchObject({ code: 'userNotFound' });
    }
  }
}

/** Writes come to the server one after the other, so that what was acknowledged last is what there is. */
function expectNothingTakenBack({ backend }: Staged, acknowledged: Acknowledged): void {
  for (const [name, record] of acknowledged) expect(backend.keys.get(name)?.limitBytes).toBe(record?.limitBytes);
}

describe('whatever comes between what', () => {
  it('the keys in memory never go back behind an acknowledged write, and none is lost', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), trips, async (steps, times) => {
        let at = 0;
        const stage = await staged({
          trip: (call) => {
            at += 1;
            const { there, back, slow } = times[at % times.length] ?? { there: 0, back: 0, slow: false };
            return { there, back: slow && call === 'list' ? 10_000 : back };
          },
          before: ({ keys }) => keys.set('a', held('a', 1_000n)),
        });
        const acknowledged: Acknowledged = new Map();
        const isSlow = times.every(({ there, back }) => there + back > SLOW);
        await play(steps, stage, acknowledged, isSlow);
        const { world, server, backend } = stage;
        // Until the last of them is settled, whatever was lost on the way.
        for (let i = 0; i < 20; i += 1) await world.pass(10_000);
        for (const [name, record] of acknowledged) {
          expect(server.keys.get(name)?.record.limitBytes).toBe(record?.limitBytes);
        }
        expect(server.mostWrites).toBeLessThanOrEqual(1);
        expect(backend.status().unsettled).toBe(0);
        await world.until(Promise.resolve(backend.replica?.freshen()));
        expect(new Set([...backend.keys.entries()].map(({ accessKey }) => accessKey))).toEqual(
          new Set(server.keys.keys()),
        );
        await backend.close();
      }),
      { numRuns: 60 },
    );
  });
});
