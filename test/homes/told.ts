import fc from 'fast-check';
import { expect } from 'vitest';
import { mayHaveHappened } from '../../src/client/upstream-error.js';
import type { Backend } from '../../src/core/backend.js';
import { DomainError, isInMemory } from '../../src/core/errors.js';
import type { AccessKey } from '../../src/core/model.js';
import { createKey, deleteKey, updateKey } from '../ports/key-changes.js';
import { type Change, createExpectedKeys, type Seen } from './expected-keys.js';

/** A home of which something goes wrong, and a Keyway over it that is killed. */
export interface FragileHome {
  /** Of the Keyway that lives now. */
  backend(): Backend;
  /** Something goes wrong from now on; which, of any number. */
  goesWrong(which: number): void;
  heal(): void;
  /** Kills the Keyway, and starts another one. */
  kill(): Promise<void>;
  /** Does the work, and kills the Keyway at the n-th thing that this does, unless it is over before. Rejects as the work does. */
  killWithin(step: number | null, work: () => Promise<void>): Promise<'done' | 'killed'>;
  /** All that is there for good, with nothing broken. */
  kept(): Promise<readonly AccessKey[]>;
  leave(): Promise<void>;
}

const NAMES = ['a', 'b', 'c'] as const;

const change = fc.record(
  {
    kind: fc.constantFrom('create' as const, 'create' as const, 'update' as const, 'delete' as const),
    key: fc.constantFrom(...NAMES),
    killedAt: fc.nat(20),
  },
  { requiredKeys: ['kind', 'key'] },
);
const step = fc.oneof(
  { weight: 6, arbitrary: change },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('goes wrong' as const), which: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('heal' as const, 'kill' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type KeyStep = Extract<Step, { readonly key: string }>;

/** A key is lost, made again in memory alone by another process, and lost again under a third, of a server that runs for long. */
const LOST_TWICE: Step[] = [
  { kind: 'kill' },
  { kind: 'kill' },
  { kind: 'create', key: 'b' },
  { kind: 'goes wrong', which: 67 },
  { kind: 'goes wrong', which: 36 },
  { kind: 'kill' },
  { kind: 'create', key: 'a' },
  { kind: 'kill' },
  { kind: 'goes wrong', which: 67 },
];

/** A create that a killed process never noted is lost under the next one, and so is the create of the same key over it. */
const LOST_OVER_A_LOST: Step[] = [
  { kind: 'create', key: 'c', killedAt: 4 },
  { kind: 'delete', key: 'a' },
  { kind: 'goes wrong', which: 47 },
  { kind: 'create', key: 'c', killedAt: 17 },
  { kind: 'goes wrong', which: 62 },
  { kind: 'delete', key: 'b', killedAt: 1 },
  { kind: 'update', key: 'c', killedAt: 11 },
  { kind: 'update', key: 'c' },
];

/**
 * After any changes, faults and kills all that was called done is there, and nothing that was called not made; what was called
 * unknown, or was in memory when the process was killed, may be there or not. Begins no run later than after `time`, in
 * milliseconds: a machine that is slow shows less of them.
 */
export async function expectTold(open: () => Promise<FragileHome>, runs: number, time = 60_000): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      const home = await open();
      try {
        await play(steps, home);
      } finally {
        await home.leave();
      }
    }),
    { numRuns: runs, interruptAfterTimeLimit: time, examples: [[LOST_TWICE], [LOST_OVER_A_LOST]] },
  );
}

async function play(steps: readonly Step[], home: FragileHome): Promise<void> {
  const expected = createExpectedKeys();
  for (const [at, asked] of steps.entries()) {
    if (asked.kind === 'goes wrong') home.goesWrong(asked.which);
    else if ('key' in asked) await make(asked, at);
    else if (asked.kind === 'heal') home.heal();
    else await home.kill();
  }
  home.heal();
  await home.kill();
  const kept = new Map((await home.kept()).map((key) => [key.accessKey, seen(key)]));
  for (const name of NAMES)
    expect(
      expected.mayBe(name, kept.get(name) ?? null),
      `${name} is ${JSON.stringify(kept.get(name))}, expected ${expected.describe(name)}`,
    ).toBe(true);

  async function make({ kind, key, killedAt }: KeyStep, at: number): Promise<void> {
    const backend = home.backend();
    const record: AccessKey = { accessKey: key, name: `n${at}`, limitBytes: BigInt(at) };
    const after: Change = (before) => {
      if (kind === 'delete') return null;
      return kind === 'create' || before !== null ? seen(record) : null;
    };
    const told = expected.asks(key, after);
    try {
      const outcome = await home.killWithin(killedAt ?? null, () => {
        if (kind === 'create') return createKey(backend, record);
        return kind === 'update' ? updateKey(backend, key, record) : deleteKey(backend, key);
      });
      if (outcome === 'done') told.answered();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (isInMemory(error))
        expect(seen(backend.keys.get(key) ?? null)).toEqual(kind === 'delete' ? null : seen(record));
      if (isNotMade(error)) told.refused();
    }
    if (killedAt !== undefined) await home.kill();
  }
}

const NOT_MADE: readonly string[] = ['saveFailed', 'userNotFound', 'upstreamAway', 'upstreamRefused', 'upstreamSilent'];

const isNotMade = (error: DomainError): boolean => NOT_MADE.includes(error.code) && !mayHaveHappened(error);

const seen = (key: AccessKey | null): Seen =>
  key && { name: key.name, limit: key.limitBytes === null ? null : Number(key.limitBytes) };
