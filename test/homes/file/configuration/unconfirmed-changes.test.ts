import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_RESOLVER } from '../../../../src/core/dns-settings.js';
import {
  type AccessKey,
  type ConfigurationChange,
  DEFAULT_DNS,
  type DnsConfig,
  type OutboundRule,
} from '../../../../src/core/model.js';
import { type FoundValues, UnconfirmedChanges } from '../../../../src/homes/file/configuration/unconfirmed-changes.js';
import { tries } from '../../../tries.js';

const WINDOW = 7_000;

function key(accessKey: string, name: string | null = null, limitBytes: bigint | null = null): AccessKey {
  return { accessKey, name, limitBytes };
}

function found(keys: readonly AccessKey[], dns: DnsConfig = DEFAULT_DNS): FoundValues {
  return { keys, outbound: null, dns };
}

const of = (accessKey: string, record: AccessKey | null): ConfigurationChange => ({
  keys: new Map([[accessKey, record]]),
});

/** Changes that were written one after the other, each with its time. */
function written(...steps: readonly (readonly [number, AccessKey | null, AccessKey | null])[]) {
  const unread = new UnconfirmedChanges(() => 0, WINDOW);
  for (const [at, former, record] of steps) unread.record(of('a', former), of('a', record), at);
  return (record: AccessKey | null, at: number) => {
    const { keys } = unread.findReverted(found(record === null ? [] : [record]), at);
    return keys?.get('a');
  };
}

describe('what another program took back within 7 s', () => {
  it('is made again where it is exactly what was before: a create, a deletion, a limit, a name', () => {
    expect(written([0, null, key('a')])(null, 6_999)).toEqual(key('a'));
    expect(written([0, key('a', 'A'), null])(key('a', 'A'), 100)).toBeNull();
    expect(written([0, key('a', 'A', 1n), key('a', 'A', 2n)])(key('a', 'A', 1n), 100)).toEqual(key('a', 'A', 2n));
    expect(written([0, key('a', 'A'), key('a', 'B')])(key('a', 'A'), 100)).toEqual(key('a', 'B'));
  });

  it("is somebody's change where it holds another value, or comes later", () => {
    expect(written([0, null, key('a')])(key('a', 'other'), 100)).toBeUndefined();
    expect(written([0, key('a', 'A'), null])(key('a', 'B'), 100)).toBeUndefined();
    expect(written([0, key('a', 'A', 1n), key('a', 'A', 2n)])(key('a', 'A', 3n), 100)).toBeUndefined();
    expect(written([0, key('a', 'A'), key('a', 'B')])(null, 100)).toBeUndefined();
    expect(written([0, null, key('a')])(null, WINDOW + 1)).toBeUndefined();
  });

  it('is decided for the name and the limit apart', () => {
    expect(written([0, key('a', 'A', 1n), key('a', 'A', 2n)])(key('a', 'B', 1n), 100)).toEqual(key('a', 'B', 2n));
  });

  it('may be any of the values before, as long as each counts', () => {
    const steps = [
      [0, null, key('a')],
      [3_000, key('a'), key('a', 'A')],
    ] as const;
    expect(written(...steps)(null, 6_000)).toEqual(key('a', 'A'));
    expect(written(...steps)(key('a'), 9_000)).toEqual(key('a', 'A'));
    expect(written(...steps)(null, 9_000)).toBeUndefined();
  });

  it('is let go once somebody has changed it, also where he comes back to it', () => {
    const again = written([0, null, key('a')]);
    expect(again(key('a', 'other'), 100)).toBeUndefined();
    expect(again(null, 200)).toBeUndefined();
  });

  it('is forgotten key by key once it has been read, however soon other changes follow', () => {
    const unread = new UnconfirmedChanges(() => 0, WINDOW);
    for (let n = 0; n < 100; n += 1) {
      unread.record(
        of('again', n % 2 === 0 ? key('again') : null),
        of('again', n % 2 === 0 ? null : key('again')),
        n * 1_000,
      );
      unread.record(of(`key-${n}`, key(`key-${n}`)), of(`key-${n}`, null), n * 1_000);
    }
    const last = Array.from({ length: 8 }, (_, index) => `key-${92 + index}`);
    expect(unread.deleted()).toEqual(last);
    expect(unread.findReverted(found([key('again'), ...last.map((name) => key(name))]), 99_000).keys?.size).toBe(8);
  });

  it('covers DNS settings one by one, and rules', () => {
    const unread = new UnconfirmedChanges(() => 0, WINDOW);
    const domains = new Map([['a.example', '192.0.2.1']]);
    unread.record(
      { dns: { customDomains: new Map(), enabled: false } },
      { dns: { customDomains: domains, enabled: true } },
    );
    expect(unread.findReverted(found([], { ...DEFAULT_DNS, enabled: true })).dns).toEqual({ customDomains: domains });
    const resolver = { ...DEFAULT_RESOLVER, upstreams: ['9.9.9.9'] };
    unread.record({ dns: { resolver: null } }, { dns: { resolver } });
    expect(unread.findReverted(found([], { ...DEFAULT_DNS, enabled: true })).dns).toEqual({ resolver });
    expect(unread.findReverted(found([], { ...DEFAULT_DNS, resolver })).dns).toEqual({ enabled: true });
    const rule = { domainSuffix: ['.a'], ipCidr: [], protocol: null, action: 'block' } as const;
    unread.record({ rules: [] }, { rules: [rule] });
    const outbound = { enabled: true, protocol: '', address: '', port: 0, defaultAction: 'direct', rules: [] } as const;
    expect(unread.findReverted({ ...found([]), outbound }).rules).toEqual([rule]);
  });
});

describe('what stands in the place of a change', () => {
  it('is neither what was written nor what a server reverts to, and ends the change once it is recorded', () => {
    const outboundOf = (rules: readonly OutboundRule[]) =>
      ({ enabled: true, protocol: '', address: '', port: 0, defaultAction: 'direct', rules }) as const;
    const ruleFor = (domain: string) =>
      ({ domainSuffix: [domain], ipCidr: [], protocol: null, action: 'block' }) as const;
    const changes = new UnconfirmedChanges(() => 0, WINDOW);
    changes.record(
      { ...of('a', null), rules: [], dns: { enabled: false } },
      { ...of('a', key('a', 'A')), rules: [ruleFor('.a')], dns: { enabled: true } },
    );
    const standing = (record: AccessKey | null, rules: readonly OutboundRule[], enabled: boolean): FoundValues => ({
      keys: record === null ? [] : [record],
      outbound: outboundOf(rules),
      dns: { ...DEFAULT_DNS, enabled },
    });
    expect(changes.findSuperseded(standing(key('a', 'A'), [ruleFor('.a')], true), 1)).toEqual({});
    expect(changes.findSuperseded(standing(null, [], false), 1)).toEqual({});
    const others = standing(key('a', 'B'), [ruleFor('.b')], true);
    const superseded = changes.findSuperseded(others, 1);
    expect(superseded).toEqual({ ...of('a', key('a', 'B')), rules: [ruleFor('.b')] });
    changes.record(superseded, superseded);
    expect(changes.findReverted(standing(null, [], true), 1)).toEqual({});
  });
});

describe('a server that has read changes up to some moment and writes its memory', () => {
  const step = fc.record({
    gap: fc.integer({ min: 0, max: 3_000 }),
    key: fc.constantFrom('a', 'b'),
    record: fc.option(
      fc.record({ name: fc.option(fc.constantFrom('A', 'B')), limitBytes: fc.option(fc.constantFrom(1n, 2n)) }),
    ),
  });

  it('takes nothing back for good while it reads every 5 s', () => {
    const stories = fc.record({
      steps: fc.array(step, { maxLength: 8 }),
      wait: fc.integer({ min: 0, max: 5_000 }),
      age: fc.integer({ min: 0, max: 5_000 }),
    });
    fc.assert(
      fc.property(stories, ({ steps, wait, age }) => {
        const unread = new UnconfirmedChanges(() => 0, WINDOW);
        let now = 0;
        /** Every state of the file with the time of its end. */
        const states: { keys: Map<string, AccessKey>; until: number }[] = [];
        let file = new Map<string, AccessKey>();
        for (const { gap, key: accessKey, record } of steps) {
          now += gap;
          states.push({ keys: file, until: now });
          const former = file.get(accessKey) ?? null;
          const next = record === null ? null : { accessKey, ...record };
          file = new Map(file);
          if (next === null) file.delete(accessKey);
          else file.set(accessKey, next);
          unread.record(of(accessKey, former), of(accessKey, next), now);
        }
        now += wait;
        // Its memory is what stood in the file when it last read it.
        const memory = states.find(({ until }) => until > now - age)?.keys ?? file;
        const { keys = new Map() } = unread.findReverted(found([...memory.values()]), now);
        const after = new Map(memory);
        for (const [accessKey, record] of keys) {
          if (record === null) after.delete(accessKey);
          else after.set(accessKey, record);
        }
        expect(after).toEqual(file);
      }),
      { numRuns: tries(350) },
    );
  });
});
