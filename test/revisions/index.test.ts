import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import semver from 'semver';
import { describe, expect, it } from 'vitest';
import { REVISIONS } from '../../revisions/all.js';
import { resolveRevision } from '../../revisions/index.js';

const folder = resolve(import.meta.dirname, '../../revisions');

describe('the revisions', () => {
  it('follow one another without a gap in the patch numbers, the last without an end', () => {
    for (const [index, { to }] of REVISIONS.entries()) {
      const next = REVISIONS[index + 1];
      if (next === undefined) expect(to).toBeNull();
      else {
        expect(semver.lt(to ?? '', next.from)).toBe(true);
        const sameMinor = semver.minor(to ?? '') === semver.minor(next.from);
        if (sameMinor) expect(semver.inc(to ?? '', 'patch')).toBe(next.from);
      }
    }
  });

  it('are each one file named after its id, with a sentence in the README', () => {
    const files = readdirSync(folder).filter(
      (name) => name.endsWith('.ts') && !['all.ts', 'index.ts', 'table.ts'].includes(name),
    );
    expect(files.sort()).toEqual(REVISIONS.map(({ id }) => `${id}.ts`).sort());
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    for (const { id } of REVISIONS) expect(readme).toContain(`| \`${id}\` |`);
  });

  it.each([
    ['earliest', 'earliest', '0.2.34'],
    ['dns', 'dns', '0.2.50'],
    ['current', 'current', '0.3.6'],
    ['0.2.0', '0.2.0', '0.2.0'],
    ['0.2.24', '0.2.0', '0.2.24'],
    ['0.2.31', 'earliest', '0.2.31'],
    ['0.2.35', '0.2.35', '0.2.35'],
    ['0.2.60', '0.2.51', '0.2.60'],
    ['0.2.86', '0.2.84', '0.2.86'],
    ['v0.2.96', 'current', '0.2.96'],
    ['0.3.21', '0.3.7', '0.3.21'],
    ['0.4.5', '0.4.0', '0.4.5'],
    ['0.4.6-beta.3', '0.4.6', '0.4.6-beta.3'],
    ['v0.4.7-beta.6', '0.4.7', '0.4.7-beta.6'],
  ])('--revision %s serves %s and reports %s', (text, id, version) => {
    const answer = resolveRevision(text);
    if (!answer.ok) throw new Error(answer.problem);
    expect([answer.revision.id, answer.version, answer.note]).toEqual([id, version, null]);
  });

  it('a version later than the last known takes the last line and says so', () => {
    const answer = resolveRevision('9.0.0');
    if (!answer.ok) throw new Error(answer.problem);
    expect(answer.revision.id).toBe(REVISIONS.at(-1)?.id);
    expect(answer.note).toContain('9.0.0 is later than');
  });

  it('a version between two lines that nobody knows is of the line before it, and that is said', () => {
    const answer = resolveRevision('0.3.22');
    expect(answer).toMatchObject({ revision: { id: '0.3.7' }, isLater: true });
    expect(answer).toMatchObject({ note: expect.stringContaining('0.3.22 is later than 0.3.21') });
  });

  it('"latest" is the newest line', () => {
    expect(resolveRevision('latest')).toMatchObject({ ok: true, revision: REVISIONS.at(-1), note: null });
  });

  it.each(['0.1.9', 'newest', '', '0.2', 'Earliest'])('%j is unknown, and the problem says what is known', (text) => {
    const answer = resolveRevision(text);
    expect(answer).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/earliest, dns, current, latest, or the version of a server, 0\.2\.0 or later/),
    });
  });
});
