import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyRegistry } from '../../../../src/core/keys/registry.js';
import { MAX_U64 } from '../../../../src/core/model.js';
import type { CountersPost } from '../../../../src/core/posted-counters.js';
import { PostedCounters } from '../../../../src/homes/file/counters/posted-counters.js';
import { tries } from '../../../tries.js';
import { WHOLE } from '../../../whole.js';

const KEY = 'a';

function stage(
  keys: readonly string[] = [KEY],
  options: Partial<ConstructorParameters<typeof PostedCounters>[0]> = {},
) {
  const clock = { time: 1_000_000_000, now: () => clock.time, monotonic: () => clock.time - 900_000_000 };
  const registry = new KeyRegistry(clock.now, { tracksChanges: true });
  for (const accessKey of keys) registry.create({ accessKey, name: null, limitBytes: null });
  const sources = new PostedCounters({
    keys: registry,
    count: (report) => registry.addUsage(report),
    clock,
    ...options,
  });
  const countersOf = (accessKey: string) => {
    const counters = registry.get(accessKey)?.counters;
    return counters === undefined || counters === null
      ? null
      : [counters.bytesUp, counters.bytesDown, counters.connections];
  };
  return { clock, registry, sources, countersOf };
}

let numbers = 0n;

function post(
  given: Partial<Omit<CountersPost, 'counters'>> & { readonly up: Readonly<Record<string, bigint>> },
): CountersPost {
  const { up, ...rest } = given;
  numbers += 1n;
  return {
    source: 's',
    run: { kind: 'epoch', epoch: 1n },
    number: numbers,
    isFromZero: false,
    restart: null,
    connections: 'present',
    isWhole: false,
    ...rest,
    counters: Object.entries(up).map(([accessKey, bytesUp]) => ({
      accessKey,
      bytesUp,
      bytesDown: 0n,
      connections: null,
    })),
  };
}

const uptime = (seconds: number) => ({ kind: 'uptime', uptimeSeconds: BigInt(seconds) }) as const;

describe('counters as a tunnel server has them', () => {
  it('the first post of a source is what the next ones are compared with, and counts from zero only where it says so', async () => {
    const { sources, countersOf } = stage(['a', 'b']);
    expect((await sources.take(post({ up: { a: 100n } }))).kind).toBe('baseline');
    expect(countersOf('a')).toEqual([0n, 0n, 0n]);
    expect((await sources.take(post({ up: { a: 130n, b: 7n } }))).kind).toBe('counted');
    expect([countersOf('a'), countersOf('b')]).toEqual([
      [30n, 0n, 0n],
      [7n, 0n, 0n],
    ]);
    await sources.take(post({ source: 'other', isFromZero: true, up: { a: 1000n } }));
    expect(countersOf('a')).toEqual([1030n, 0n, 0n]);
  });

  it('a number that was posted before, or a lower one, counts nothing', async () => {
    const { sources, countersOf } = stage();
    await sources.take(post({ number: 5n, isFromZero: true, up: { a: 10n } }));
    expect((await sources.take(post({ number: 5n, up: { a: 99n } }))).kind).toBe('repeated');
    expect((await sources.take(post({ number: 4n, up: { a: 3n, gone: 1n } }))).kind).toBe('repeated');
    expect(countersOf('a')).toEqual([10n, 0n, 0n]);
  });

  it('a new run counts from zero, a run that has ended is refused, also with higher numbers', async () => {
    const { sources, countersOf } = stage();
    const epoch = (number: bigint) => ({ kind: 'epoch', epoch: number }) as const;
    await sources.take(post({ run: epoch(1n), isFromZero: true, up: { a: 10n } }));
    await sources.take(post({ run: epoch(2n), number: 1n, up: { a: 4n } }));
    expect(countersOf('a')).toEqual([14n, 0n, 0n]);
    expect((await sources.take(post({ run: epoch(1n), number: MAX_U64, up: { a: 50n } }))).kind).toBe('ended');
    expect(countersOf('a')).toEqual([14n, 0n, 0n]);
  });

  const run = (epoch: number) => ({ run: { kind: 'epoch', epoch: BigInt(epoch) } }) as const;
  const upOf = ({ countersOf }: ReturnType<typeof stage>, ...names: readonly string[]) =>
    names.map((name) => countersOf(name)?.[0]);

  it('a new run that kept its counters counts what each key has more, also of keys that its first post does not have', async () => {
    const here = stage(['a', 'b', 'c']);
    await here.sources.take(post({ ...run(1), isFromZero: true, up: { a: 10n, b: 20n, c: 30n } }));
    await here.sources.take(post({ ...run(2), restart: 'kept', up: { a: 14n, b: 5n } }));
    expect(upOf(here, 'a', 'b', 'c')).toEqual([14n, 20n, 30n]);
    // Lost in a crash, and counted already; from here on a fallen value is a reset again.
    await here.sources.take(post({ ...run(2), up: { b: 9n, c: 7n } }));
    expect(upOf(here, 'b', 'c')).toEqual([24n, 30n]);
    await here.sources.take(post({ ...run(2), up: { c: 3n } }));
    expect(upOf(here, 'c')).toEqual([33n]);
    await here.sources.take(post({ ...run(3), restart: 'zero', up: { a: 2n } }));
    await here.sources.take(post({ ...run(3), up: { b: 4n } }));
    expect(upOf(here, 'a', 'b', 'c')).toEqual([16n, 28n, 33n]);
  });

  it('a key that is not in a whole post of such a run, and comes again, has begun at zero there', async () => {
    const here = stage(['a', 'b']);
    await here.sources.take(post({ ...run(1), isFromZero: true, up: { a: 100n, b: 1n } }));
    await here.sources.take(post({ ...run(2), restart: 'kept', isWhole: true, up: { b: 1n } }));
    expect(here.sources.base('s', 'a')).toMatchObject({ bytesUp: 100n, runs: 2 });
    await here.sources.take(post({ ...run(2), isWhole: true, up: { a: 30n, b: 1n } }));
    expect(upOf(here, 'a', 'b')).toEqual([130n, 1n]);
  });

  it('is judged by the post, else by what is said of the servers, else by the sums of the keys that both posts have', async () => {
    const judged = async (given: Partial<CountersPost>, keepsCounters: boolean | null, up: Record<string, bigint>) => {
      const lines: unknown[] = [];
      const log = { warn: (fields: object) => void lines.push(fields) };
      const here = stage(['a', 'b', 'c'], { keepsCounters, log });
      await here.sources.take(post({ ...run(1), isFromZero: true, up: { a: 60n, b: 40n } }));
      const restarted = post({ ...run(2), ...given, up });
      await here.sources.take(restarted);
      expect((await here.sources.take(restarted)).kind).toBe('repeated');
      return [upOf(here, 'a', 'b', 'c'), lines];
    };
    const [up, kept, zero] = [{ a: 62n, b: 40n, c: 9n }, [62n, 40n, 9n], [122n, 80n, 9n]];
    expect(await judged({ restart: 'kept' }, false, up)).toEqual([kept, []]);
    expect(await judged({ restart: 'zero' }, true, up)).toEqual([zero, []]);
    expect(await judged({}, true, up)).toEqual([kept, []]);
    expect(await judged({}, false, up)).toEqual([zero, []]);
    const guess = (restart: string, now: string, before = '100') => [{ source: 's', restart, before, now }];
    expect(await judged({}, null, up)).toEqual([kept, guess('kept', '102')]);
    // One key that has fallen far is not judged by itself.
    expect(await judged({}, null, { a: 50n, b: 0n, c: 500n })).toEqual([[60n, 40n, 500n], guess('kept', '50')]);
    expect(await judged({}, null, { a: 9n, b: 40n, c: 500n })).toEqual([[69n, 80n, 500n], guess('zero', '49')]);
    expect(await judged({}, null, { b: 20n })).toEqual([[60n, 40n, 0n], guess('kept', '20', '40')]);
  });

  it('is judged anew by the bases of a backup that is restored meanwhile', async () => {
    const names = Array.from({ length: 9_000 }, (_, index) => `key-${index}`);
    const all = (value: bigint) => Object.fromEntries(names.map((name) => [name, value]));
    const here = stage(names);
    await here.sources.take(post({ ...run(1), isFromZero: true, up: all(10n) }));
    const [kept, bases] = [here.sources.all(), [...here.sources.bases('s')]];
    const counted = [...here.registry.allKept()];
    await here.sources.take(post({ ...run(1), up: all(100n) }));
    const taking = here.sources.take(post({ ...run(2), up: all(40n) }));
    await new Promise((resolve) => setImmediate(resolve));
    here.registry.restore(counted);
    here.sources.restore(kept, bases);
    await taking;
    expect(upOf(here, 'key-0', 'key-8999')).toEqual([40n, 40n]);
  });

  it('that kept its counters and went on from an unfinished first post counts nothing of before', async () => {
    const names = Array.from({ length: 4_500 }, (_, index) => `key-${index}`);
    const all = (value: bigint) => Object.fromEntries(names.map((name) => [name, value]));
    const before = stage(names);
    const taking = before.sources.take(post({ ...run(1), up: all(10n) }));
    await new Promise((resolve) => setImmediate(resolve));
    const here = stage(names);
    for (const source of before.sources.all()) here.sources.load(source);
    for (const base of before.sources.bases('s')) here.sources.loadBase(base);
    await taking;
    await here.sources.take(post({ ...run(2), restart: 'kept', up: all(10n) }));
    expect(upOf(here, 'key-0', 'key-4499')).toEqual([0n, 0n]);
    await here.sources.take(post({ ...run(2), up: all(13n) }));
    expect(upOf(here, 'key-0', 'key-4499')).toEqual([3n, 3n]);
  });

  it('a fallen value within a run tells of a reset there, and the whole value counts', async () => {
    const { sources, countersOf } = stage();
    await sources.take(post({ isFromZero: true, up: { a: 10n } }));
    await sources.take(post({ up: { a: 3n } }));
    expect(countersOf('a')).toEqual([13n, 0n, 0n]);
  });

  it('what it is compared with outlives deletion, new creation and reset of the key, and a key that is not known yet', async () => {
    const { sources, registry, countersOf } = stage();
    await sources.take(post({ isFromZero: true, up: { a: 10n } }));
    registry.setAside(KEY);
    registry.forget(KEY);
    expect(await sources.take(post({ up: { a: 15n } }))).toEqual({ kind: 'counted', unknownKeys: [KEY] });
    registry.create({ accessKey: KEY, name: null, limitBytes: null });
    await sources.take(post({ up: { a: 16n } }));
    expect(countersOf('a')).toEqual([1n, 0n, 0n]);
    registry.reset(KEY);
    await sources.take(post({ up: { a: 18n } }));
    expect(countersOf('a')).toEqual([2n, 0n, 0n]);
  });

  it('a run that is told by its age goes on within 5 s, where a post was held up, and where the clock was set back', async () => {
    const { clock, sources, countersOf } = stage();
    const pass = (seconds: number) => {
      clock.time += seconds * 1000;
    };
    await sources.take(post({ run: uptime(1000), isFromZero: true, up: { a: 10n } }));
    pass(30);
    await sources.take(post({ run: uptime(1026), up: { a: 20n } }));
    pass(30);
    // Sent 20 s ago.
    await sources.take(post({ run: uptime(1040), up: { a: 30n } }));
    expect(countersOf('a')).toEqual([30n, 0n, 0n]);
    pass(30);
    await sources.take(post({ run: uptime(5), up: { a: 2n } }));
    expect(countersOf('a')).toEqual([32n, 0n, 0n]);
    expect((await sources.take(post({ run: uptime(1060), up: { a: 40n } }))).kind).toBe('ended');
  });

  it('a run that was kept goes on after a restart before which the clock was set back', async () => {
    const { sources, registry, clock } = stage();
    await sources.take(post({ run: uptime(1000), isFromZero: true, up: { a: 10n } }));
    const kept = sources.all();
    const bases = [...sources.bases('s')];
    clock.time -= 3_600_000;
    const next = new PostedCounters({ keys: registry, count: (report) => registry.addUsage(report), clock });
    for (const source of kept) next.load(source);
    for (const base of bases) next.loadBase(base);
    expect((await next.take(post({ run: uptime(1003), up: { a: 12n } }))).kind).toBe('counted');
    expect(registry.get('a')?.counters?.bytesUp).toBe(12n);
  });

  it('a run whose first post was held up longer than others goes on all the same', async () => {
    const { clock, sources, countersOf } = stage();
    clock.time += 9_000;
    await sources.take(post({ run: uptime(1000), isFromZero: true, up: { a: 10n } }));
    clock.time += 1_000;
    expect((await sources.take(post({ run: uptime(1010), up: { a: 11n } }))).kind).toBe('counted');
    expect(countersOf('a')).toEqual([11n, 0n, 0n]);
  });

  it('a run that was told by an epoch cannot go on by an age', async () => {
    const { sources } = stage();
    await sources.take(post({ up: {} }));
    await expect(sources.take(post({ run: uptime(1), up: {} }))).rejects.toThrow(
      'uptime_seconds: expected epoch, as in the posts of this source before',
    );
  });

  it('present connections of two sources add up, and those of a key that a whole post does not have go', async () => {
    const { sources, countersOf } = stage();
    const connected = (source: string, connections: bigint, isWhole = false): CountersPost => ({
      ...post({ source, isWhole, up: {} }),
      counters: connections < 0n ? [] : [{ accessKey: KEY, bytesUp: 0n, bytesDown: 0n, connections }],
    });
    await sources.take(connected('s', 2n));
    await sources.take(connected('t', 3n));
    expect(countersOf('a')).toEqual([0n, 0n, 5n]);
    await sources.take(connected('s', -1n));
    expect(countersOf('a')).toEqual([0n, 0n, 5n]);
    await sources.take(connected('s', -1n, true));
    expect(countersOf('a')).toEqual([0n, 0n, 3n]);
    sources.forgetSilent(Number.POSITIVE_INFINITY);
    expect(countersOf('a')).toEqual([0n, 0n, 0n]);
  });

  it('connections that are never lowered make no key online, movement does for 30 s', async () => {
    const { clock, sources, countersOf } = stage();
    const total = (bytesUp: bigint): CountersPost => ({
      ...post({ connections: 'total', up: {} }),
      counters: [{ accessKey: KEY, bytesUp, bytesDown: 0n, connections: 9n }],
    });
    await sources.take(total(5n));
    expect(countersOf('a')).toEqual([0n, 0n, 0n]);
    await sources.take(total(6n));
    expect(countersOf('a')).toEqual([1n, 0n, 1n]);
    clock.time += 29_000;
    await sources.take(total(6n));
    await sources.lower();
    expect(countersOf('a')).toEqual([1n, 0n, 1n]);
    clock.time += 1_000;
    await sources.lower();
    expect(countersOf('a')).toEqual([1n, 0n, 0n]);
  });

  it('a key that does not move is not touched, so that nothing of it has to be written', async () => {
    const { registry, sources, countersOf } = stage([]);
    registry.createWithoutCounters({ accessKey: KEY, name: null, limitBytes: null });
    registry.takeChanged(() => undefined);
    await sources.take(post({ up: { a: 0n } }));
    await sources.take(post({ up: { a: 0n } }));
    const changed: string[] = [];
    registry.takeChanged((accessKey) => changed.push(accessKey));
    expect([countersOf('a'), changed]).toEqual([null, []]);
  });

  it('a post of few keys is taken to its end in one turn, those that a whole one does not have included', async () => {
    const { sources } = stage(['a', 'b']);
    const online = (...keys: readonly string[]): CountersPost => ({
      ...post({ isWhole: true, up: {} }),
      counters: keys.map((accessKey) => ({ accessKey, bytesUp: 5n, bytesDown: 0n, connections: 1n })),
    });
    await sources.take(online('a', 'b'));
    const taking = sources.take(online('a'));
    expect(sources.source('s')).toMatchObject({ isBegun: false });
    expect(sources.base('s', 'b')).toMatchObject({ connections: 0n });
    await taking;
  });

  it('a post of many keys lets others have their turn, and a second one of the source waits for it', async () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `key-${index}`);
    const { sources, countersOf } = stage(names);
    const all = (value: bigint) => Object.fromEntries(names.map((name) => [name, value]));
    await sources.take(post({ up: all(0n) }));
    const immediate = () => new Promise((resolve) => setImmediate(resolve));
    const both = Promise.all([sources.take(post({ up: all(5n) })), sources.take(post({ up: all(8n) }))]);
    await immediate();
    expect(countersOf('key-4999')).toEqual([0n, 0n, 0n]);
    await both;
    expect(names.every((name) => countersOf(name)?.[0] === 8n)).toBe(true);
  });

  it('a post that a crash has cut off can come again, and the one after it may come in its place', async () => {
    const names = Array.from({ length: 4_500 }, (_, index) => `key-${index}`);
    const all = (value: bigint) => Object.fromEntries(names.map((name) => [name, value]));
    for (const isAgain of [true, false]) {
      const before = stage(names);
      const [first, second] = [post({ up: all(10n) }), post({ up: all(17n) })];
      const taking = before.sources.take(first);
      await new Promise((resolve) => setImmediate(resolve));
      // What a store has at that moment, in another process.
      const { registry, sources, countersOf } = stage(names);
      const [kept] = before.sources.all();
      if (kept === undefined) throw new Error('the source is not known');
      const bases = [...before.sources.bases('s')];
      expect(bases.length).toBeGreaterThan(0);
      expect(bases.length).toBeLessThan(names.length);
      sources.load(kept);
      for (const base of bases) sources.loadBase(base);
      await taking;
      if (isAgain) expect((await sources.take(first)).kind).toBe('baseline');
      await sources.take(second);
      const sum = [...registry.entries()].reduce((total, { counters }) => total + (counters?.bytesUp ?? 0n), 0n);
      // Without the repetition the next post is the baseline of what the first did not reach.
      expect(sum).toBe(7n * BigInt(isAgain ? names.length : bases.length));
      expect(countersOf('key-0')).toEqual([7n, 0n, 0n]);
    }
  });

  it('a backup that is restored while a post is counted leaves nothing of it counted twice', async () => {
    const names = Array.from({ length: 4_500 }, (_, index) => `key-${index}`);
    const all = (value: bigint) => Object.fromEntries(names.map((name) => [name, value]));
    const { registry, sources } = stage(names);
    await sources.take(post({ isFromZero: true, up: all(10n) }));
    const [counters, bases, [source]] = [[...registry.allKept()], [...sources.bases('s')], sources.all()];
    if (source === undefined) throw new Error('the source is not known');
    const taking = sources.take(post({ up: all(13n) }));
    await new Promise((resolve) => setImmediate(resolve));
    registry.restore(counters);
    sources.restore([source], bases);
    await taking;
    expect(new Set([...registry.entries()].map((entry) => entry.counters?.bytesUp))).toEqual(new Set([13n]));
  });
});

/** A tunnel server with one key, whose posts go astray, come late and come twice. */
const happening = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('traffic' as const), bytes: fc.nat(100) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('post' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('arrives' as const), which: fc.nat(10), isLost: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('restart' as const, 'reset' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('deleted' as const, 'keyway starts again' as const) }) },
);

describe('counters that are posted in any order, again, late, or never', () => {
  it('count no byte twice, and miss only what passed between a post and a restart or reset', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 40 }), async (happenings) => {
        let here = stage();
        let traffic = 0n;
        /** Of the present run, since its start or last reset. */
        let value = 0n;
        let epoch = 1n;
        let number = 0n;
        /** Traffic that no post told before a restart or reset. */
        let untold = 0n;
        let told = 0n;
        let counted = 0n;
        /** How often all has begun at zero, when a post was made. */
        let begun = 0;
        const underway: { readonly post: CountersPost; readonly begun: number }[] = [];
        const make = () => {
          number += 1n;
          return post({ run: { kind: 'epoch', epoch }, number, isFromZero: true, restart: 'zero', up: { a: value } });
        };
        const take = async (one: CountersPost) => {
          const before = here.registry.get(KEY)?.counters?.bytesUp ?? 0n;
          await here.sources.take(one);
          counted += (here.registry.get(KEY)?.counters?.bytesUp ?? 0n) - before;
        };
        const begin = () => {
          begun += 1;
          untold += value - told;
          value = 0n;
          told = 0n;
        };
        for (const one of happenings) {
          if (one.kind === 'traffic') {
            traffic += BigInt(one.bytes);
            value += BigInt(one.bytes);
          } else if (one.kind === 'post') underway.push({ post: make(), begun });
          else if (one.kind === 'restart') {
            begin();
            epoch += 1n;
          } else if (one.kind === 'reset') {
            // Where a value grows beyond what was posted before the reset, nobody can tell that it had fallen.
            const last = make();
            await take(last);
            told = value;
            begin();
            await take(make());
          } else if (one.kind === 'arrives') {
            const at = one.which % Math.max(1, underway.length);
            const arriving = underway[at];
            if (arriving === undefined) continue;
            await take(arriving.post);
            const tells = arriving.post.counters[0]?.bytesUp ?? 0n;
            if (arriving.begun === begun && tells > told) told = tells;
            // A post whose answer is lost is sent again.
            if (!one.isLost) underway.splice(at, 1);
          } else if (one.kind === 'deleted') {
            here.registry.setAside(KEY);
            here.registry.forget(KEY);
            here.registry.create({ accessKey: KEY, name: null, limitBytes: null });
          } else {
            const later = stage();
            later.registry.restore([...here.registry.allKept()]);
            for (const source of here.sources.all()) {
              later.sources.load(source);
              for (const base of here.sources.bases(source.name)) later.sources.loadBase(base);
            }
            here = later;
          }
          expect(counted <= traffic).toBe(true);
        }
        await take(make());
        expect(counted <= traffic).toBe(true);
        expect(counted >= traffic - untold).toBe(true);
      }),
      { numRuns: tries(WHOLE ? 170 : 60) },
    );
  });
});

const KEYS = ['a', 'b', 'c'] as const;
const someKeys = fc.subarray([...KEYS]);

/** A tunnel server with three keys: what it does, what it posts of them, and what Keyway goes through. */
const stepOfServer = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('traffic' as const), keys: someKeys, bytes: fc.nat(100) }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('post' as const), keys: someKeys, again: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart' as const), keys: fc.constant([]) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reset' as const), keys: someKeys }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('keyway starts again' as const), keys: fc.constant([]) }) },
);

describe.each(['kept', 'zero'] as const)('counters of a server whose restarts leave them %s', (restart) => {
  it.each(['the post', 'the version'])('are counted to the byte, each key once, as %s says it', async (saidBy) => {
    await fc.assert(
      fc.asyncProperty(fc.array(stepOfServer, { maxLength: 40 }), async (steps) => {
        const options = saidBy === 'the version' ? { keepsCounters: restart === 'kept' } : {};
        let here = stage(KEYS, options);
        const values = new Map<string, bigint>(KEYS.map((key) => [key, 0n]));
        /** What must be counted: all traffic, less what no post told before a restart that forgot it. */
        const due = new Map(values);
        const told = new Map(values);
        let epoch = 1;
        const tell = async (keys: readonly string[], isAgain = false) => {
          const up = Object.fromEntries(keys.map((key) => [key, values.get(key) ?? 0n]));
          const said = saidBy === 'the post' ? restart : null;
          const one = post({ run: { kind: 'epoch', epoch: BigInt(epoch) }, isFromZero: true, restart: said, up });
          await here.sources.take(one);
          if (isAgain) expect((await here.sources.take(one)).kind).toBe('repeated');
          for (const key of keys) told.set(key, values.get(key) ?? 0n);
        };
        for (const step of steps) {
          if (step.kind === 'traffic') {
            for (const key of step.keys) {
              values.set(key, (values.get(key) ?? 0n) + BigInt(step.bytes));
              due.set(key, (due.get(key) ?? 0n) + BigInt(step.bytes));
            }
          } else if (step.kind === 'post') await tell(step.keys, step.again);
          else if (step.kind === 'reset') {
            await tell(step.keys);
            for (const key of step.keys) values.set(key, 0n);
            await tell(step.keys);
          } else if (step.kind === 'restart') {
            epoch += 1;
            for (const key of restart === 'zero' ? KEYS : []) {
              due.set(key, (due.get(key) ?? 0n) - (values.get(key) ?? 0n) + (told.get(key) ?? 0n));
              values.set(key, 0n);
              told.set(key, 0n);
            }
          } else {
            const later = stage(KEYS, options);
            later.registry.restore([...here.registry.allKept()]);
            later.sources.restore(here.sources.all(), [...here.sources.bases('s')]);
            here = later;
          }
        }
        await tell(KEYS);
        expect(KEYS.map((key) => here.countersOf(key)?.[0])).toEqual(KEYS.map((key) => due.get(key)));
      }),
      { numRuns: tries(WHOLE ? 100 : 40) },
    );
  });
});
