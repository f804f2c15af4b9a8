import { expect, it } from 'vitest';
import { Secrets, STRUCK } from '../../../src/client/secrets.js';
import { readDocument } from '../../../src/document/document.js';
import { ownChange, struckConfiguration, withOwnTexts } from '../../../src/homes/upstream/struck-configuration.js';
import { type JournalEntry, NO_WRITE_JOURNAL } from '../../../src/homes/upstream/write-journal.js';

const TOKEN = 'token-of-the-server';
const secrets = () => new Secrets({ token: TOKEN, operator: null });

const CONFIGURATION = {
  access_keys: [{ access_key: 'a', name: `A ${TOKEN}` }],
  outbound: { enabled: true, rules: [{ domain_suffix: [`${TOKEN}.org`, 'b'], ip_cidr: [], action: 'proxy' }] },
  dns: { doh_upstream: `https://dns/${TOKEN}`, adblock_urls: [TOKEN], custom_domains: { [TOKEN]: '1.1.1.1' } },
};

it('writes rules and DNS settings of a configuration as the server has them, which were read without Keyway’s credentials', () => {
  const texts = secrets();
  const { configuration } = readDocument(Buffer.from(JSON.stringify(CONFIGURATION)));
  const { outbound, dns } = struckConfiguration(configuration, texts);
  const change = { rules: outbound?.rules ?? [], dns };
  const spelled = (value: unknown) =>
    JSON.stringify(value, (_, each: unknown) => (each instanceof Map ? [...each] : each));
  expect(spelled(change)).not.toContain(TOKEN);
  expect(spelled(change)).toContain(STRUCK);
  expect(ownChange(change, texts)).toEqual({ rules: configuration.outbound?.rules, dns: configuration.dns });
  expect(() => ownChange(change, secrets())).toThrow(STRUCK);
});

it('has notes of writes outlive what is remembered of the server’s own texts', async () => {
  const kept: JournalEntry[] = [];
  const dropped: string[] = [];
  const onDisk = (found: readonly JournalEntry[]) => ({
    ...NO_WRITE_JOURNAL,
    found,
    keep: async (notes: readonly JournalEntry[]) => void kept.push(...notes),
    drop: (keys: readonly string[]) => void dropped.push(...keys),
  });
  const note = (accessKey: string, name: string): JournalEntry => ({
    ...{ accessKey, after: { accessKey, name, limitBytes: 5n } },
    ...{ previousStates: [null, { accessKey, name, limitBytes: null }], isUnsafe: false, at: 1 },
  });
  const before = secrets();
  const shown = note(before.struck(`k ${TOKEN}`), before.struck(`n ${TOKEN}`));
  const notes = withOwnTexts(onDisk([]), before);
  await notes.keep([shown]);
  notes.drop([shown.accessKey]);
  const own = note(`k ${TOKEN}`, `n ${TOKEN}`);
  expect([kept, dropped]).toEqual([[own], [`k ${TOKEN}`]]);

  const later = secrets();
  expect(withOwnTexts(onDisk(kept), later).found).toEqual([shown]);
  expect(later.written(shown.accessKey)).toBe(`k ${TOKEN}`);
});
