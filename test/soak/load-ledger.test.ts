import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createGate } from './load-gate.js';
import { createLedger } from './load-ledger.js';

const list = (...data: readonly object[]) => Buffer.from(JSON.stringify({ ok: true, data }));
const file = (...access_keys: readonly unknown[]) => Buffer.from(`// by hand\n${JSON.stringify({ access_keys })}`);

describe('what the soak compares with', () => {
  const ledger = createLedger();
  ledger.set('a', { name: 'A', limit: 5n, bytesUp: 7n });
  ledger.set('b', { name: null, limit: null, bytesUp: 0n });
  const a = { access_key: 'a', name: 'A', limit_bytes: 5, bytes_up: 7 };
  const b = { access_key: 'b', name: null, limit_bytes: null, bytes_up: 0 };
  const aInFile = { access_key: 'a', name: 'A', limit_bytes: 5 };

  it('finds nothing where all is as was acknowledged', () => {
    expect(ledger.differences(list(b, a), file(aInFile, 'b'))).toEqual([]);
  });

  it('names a key that is gone, one that came back, another name or limit, and a byte too few, each with its place', () => {
    expect(ledger.differences(list(b), file(aInFile, 'b'))).toEqual([
      'the API has of a: nothing; acknowledged was: name A, limit 5, 7 bytes up',
    ]);
    expect(ledger.differences(list(a, b), file(aInFile, 'b', 'c'))).toEqual([
      'the file has c, which was deleted or never acknowledged',
    ]);
    expect(ledger.differences(list({ ...a, bytes_up: 6 }, b), file({ ...aInFile, name: 'B' }, 'b'))).toHaveLength(2);
    expect(ledger.differences(list({ ...a, limit_bytes: null }, b), file(aInFile, 'b'))).toHaveLength(1);
  });
});

describe('a change of which nobody knows what became', () => {
  const ledger = createLedger();
  const state = (name: string) => ({ name, limit: null, bytesUp: 0n });
  const found = (name: string) => [list({ access_key: 'a', name }), file({ access_key: 'a', name })] as const;

  it('leaves several states that are right, absent among them, until the next one that was acknowledged', () => {
    ledger.set('a', state('first'));
    ledger.perhaps('a', state('second'));
    ledger.perhaps('a', null);
    for (const right of [found('first'), found('second'), [list(), file()] as const])
      expect(ledger.differences(...right)).toEqual([]);
    expect(ledger.differences(...found('third'))).toHaveLength(2);
    expect(ledger.differences(found('first')[0], found('second')[1])).toEqual([
      'the API has of a: name first, limit null; the file: name second, limit null',
    ]);
    ledger.set('a', state('third'));
    expect(ledger.differences(...found('third'))).toEqual([]);
    expect(ledger.differences(...found('second'))).toHaveLength(2);
  });

  it('of a key that was not there leaves it there or not', () => {
    ledger.delete('a');
    ledger.perhaps('a', state('first'));
    expect(ledger.differences(...found('first'))).toEqual([]);
    expect(ledger.differences(list(), file())).toEqual([]);
    expect(ledger.differences(...found('second'))).toHaveLength(2);
  });
});

describe('the gate', () => {
  it('lets one alone only when nobody is among, and nobody among until that one is done', async () => {
    const gate = createGate();
    const order: string[] = [];
    const step = (name: string) => async () => {
      order.push(`${name} begins`);
      await pause(5);
      order.push(`${name} ends`);
    };
    await Promise.all([gate.among(step('a')), gate.alone(step('x')), gate.alone(step('y')), gate.among(step('b'))]);
    const nested = order.flatMap((words, index) => (words.endsWith('begins') && index % 2 === 1 ? [words] : []));
    expect([order[0], order[1], order.length, nested]).toEqual(['a begins', 'a ends', 8, []]);
    await expect(gate.alone(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await gate.among(step('c'));
    expect(order.at(-1)).toBe('c ends');
  });
});
