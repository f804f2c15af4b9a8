import { expect, it } from 'vitest';
import { resolveRevision } from '../../../revisions/index.js';
import { readsPbkdf2 } from '../../../src/wire/traits/password-form.js';

it.each([
  ['0.3.21', false, false],
  ['0.4.5', false, false],
  ['0.4.6-beta.9', false, false],
  ['0.4.6-beta.10', true, false],
  ['0.4.6', true, false],
  ['0.4.7-beta.4', true, false],
  ['0.4.7-beta.5', true, true],
  ['0.4.7', true, true],
  ['1.0.0', true, true],
])('a server of %s keeps its counters over a restart: %s, and reads PBKDF2: %s', (given, keeps, reads) => {
  const found = resolveRevision(given);
  if (!found.ok) throw new Error(found.problem);
  expect([found.revision.storing.keepsCounters(found.version), readsPbkdf2(found.version)]).toEqual([keeps, reads]);
});
