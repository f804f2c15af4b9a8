import { expect, test } from 'vitest';
import { LocalRecords } from '../../../src/core/kept-records.js';
import { KeyMakers } from '../../../src/core/keys/key-makers.js';
import { KeyRegistry } from '../../../src/core/keys/registry.js';
import type { Principal } from '../../../src/core/principal.js';
import { removeFrom } from './remove-from.js';

const BOT: Principal = { name: 'bot', may: 'create' };
const HOUR = 3_600_000;

test('the makers of keys that went by other ways are forgotten an hour after they were missed, unless these are back', async () => {
  const now = { time: 0 };
  const records = new LocalRecords();
  const keys = new KeyRegistry(() => now.time);
  const makers = new KeyMakers(records, { monotonic: () => now.time }, keys);
  for (const accessKey of ['stays', 'goes', 'returns']) keys.create({ accessKey, name: null, limitBytes: null });
  await makers.made(BOT, ['stays', 'goes', 'returns']);
  for (const accessKey of ['goes', 'returns']) removeFrom(keys, accessKey);
  await makers.sweep(keys);
  expect([...records.of('makers').keys()]).toEqual(['stays', 'goes', 'returns']);
  keys.create({ accessKey: 'returns', name: null, limitBytes: null });
  now.time += HOUR + 1;
  await makers.sweep(keys);
  expect([...records.of('makers').keys()]).toEqual(['stays', 'returns']);
});

test('of keys that are made and removed for ever, the makers of the last 100,000 are kept', async () => {
  const records = new LocalRecords();
  const makers = new KeyMakers(records, { monotonic: () => 0 }, new KeyRegistry(() => 0));
  const names = Array.from({ length: 100_000 }, (_, index) => `key-${index}`);
  await makers.made(BOT, [...names, 'last']);
  await makers.gone(names);
  expect(records.of('makers').has('key-0')).toBe(true);
  await makers.gone(['last']);
  expect([...records.of('makers').keys()]).toEqual([...names.slice(1), 'last']);
});
