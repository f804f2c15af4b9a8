import { expect, it } from 'vitest';
import { DomainError } from '../../src/core/errors.js';
import { type KeptRecords, LocalRecords } from '../../src/core/kept-records.js';
import { NamedTokens } from '../../src/core/named-tokens.js';
import { STATIC } from '../../src/core/principal.js';
import { systemClock, systemRandom } from '../../src/platform/system-ports.js';

const ports = { clock: systemClock, random: systemRandom };
const TOKEN = { name: 'relay', may: 'relay', expiresAt: null, label: null } as const;

/** Tokens of a state that another gateway has, too: what that makes shows here after a look. */
async function shared(look: () => Promise<void>) {
  const theirs = new LocalRecords();
  const secret = await new NamedTokens({ ...ports, records: theirs }).add(TOKEN, STATIC);
  const own = new LocalRecords();
  let looks = 0;
  const records: KeptRecords = {
    outliveProcess: own.outliveProcess,
    isShared: true,
    of: (kind) => own.of(kind),
    onChange: (kind, listener) => own.onChange(kind, listener),
    change: (changes) => own.change(changes),
    async lookUp() {
      looks += 1;
      await look();
      await own.change([...theirs.of('tokens')].map(([id, body]) => ({ kind: 'tokens', id, body })));
    },
  };
  return { secret, named: new NamedTokens({ ...ports, records }), looks: () => looks };
}

it('a token of another gateway is looked for when it is shown, and what has not the form of one is not', async () => {
  const { secret, named, looks } = await shared(async () => undefined);
  for (const other of ['Bearer kw_short', `Bearer kw_${'x'.repeat(44)}`, 'Bearer secret', `kw_${'x'.repeat(43)}`])
    expect(named.principalShown(other)).toBeNull();
  expect(looks()).toBe(0);
  expect(await named.principalShown(`Bearer ${secret}`)).toMatchObject({ name: 'relay', may: 'relay' });
  expect(await named.principalShown(`Bearer kw_${'x'.repeat(43)}`)).toBeNull();
  expect(looks()).toBe(2);
  // Known ones cost no look.
  expect(named.principalShown(`Bearer ${secret}`)).toMatchObject({ name: 'relay', may: 'relay' });
  expect(looks()).toBe(2);
});

it('nobody can tell of an unknown token while the state is away', async () => {
  const { secret, named } = await shared(() => Promise.reject(new DomainError('backendAway')));
  await expect(named.principalShown(`Bearer ${secret}`)).rejects.toMatchObject({ code: 'backendAway' });
});
