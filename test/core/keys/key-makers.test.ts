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
  const makers = new KeyMakers(records, { monotonic: () => now.time });
  const keys = new KeyRegistry(() => now.time);
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
