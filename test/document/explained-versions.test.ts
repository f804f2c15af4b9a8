import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VersionSource } from '../../src/core/backend.js';
import { readDocument } from '../../src/document/document.js';
import { ExplainedVersions } from '../../src/document/explained-versions.js';
import { contentDigest, versionId } from '../../src/document/retention.js';
import { comparisonWith, type VersionDifference } from '../../src/document/version-difference.js';
import { tries } from '../tries.js';

const counted = ({ added, removed, changed, places }: VersionDifference) => {
  return { added: added.length, removed: removed.length, changed: changed.length, places };
};

const content = (file: object) => Buffer.from(JSON.stringify({ mode: 'server', ...file }));

/** Kept versions, the last of which is also what stands there now. */
async function sourceOf(contents: readonly Buffer[]) {
  const kept = await Promise.all(
    contents.map(async (bytes, at) => ({
      id: versionId(at, await contentDigest(bytes)),
      keptAt: at,
      forever: false,
      bytes,
    })),
  );
  const reads: string[] = [];
  const source: VersionSource = {
    list: async () => kept,
    async read(id) {
      reads.push(id);
      return kept.find((one) => one.id === id)?.bytes ?? Promise.reject(new Error('there is none'));
    },
    present: async () => kept.at(-1)?.bytes ?? Buffer.from(''),
  };
  return { source, kept, reads };
}

const file = fc.record({
  access_keys: fc.uniqueArray(
    fc.record({
      key: fc.constantFrom('a', 'b', 'c', 'd'),
      name: fc.constantFrom(null, 'null', 'Anna'),
      limit: fc.constantFrom(null, 1, 2),
    }),
    { selector: ({ key }) => key, maxLength: 4 },
  ),
  listen: fc.constantFrom('0.0.0.0:1', '0.0.0.0:2'),
});

describe('kept versions that are explained', () => {
  it('have as many differences as a comparison finds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(file.map(content), { minLength: 1, maxLength: 4 }), async (contents) => {
        const { source, kept } = await sourceOf(contents);
        const documents = contents.map((bytes) => readDocument(bytes));
        const listed = await new ExplainedVersions().list(source);
        expect(listed.map(({ id }) => id)).toEqual(kept.map(({ id }) => id).toReversed());
        const now = documents.at(-1);
        for (const [place, { difference, next }] of listed.toReversed().entries()) {
          const then = documents[place];
          const after = documents[place + 1] ?? now;
          if (now === undefined || then === undefined || after === undefined) throw new Error('each is read');
          expect(difference).toEqual(counted(await (await comparisonWith(now))(then)));
          expect(next).toEqual(counted(await (await comparisonWith(after))(then)));
        }
      }),
      { numRuns: tries(100) },
    );
  });

  it('are read once, whatever becomes of the configuration', async () => {
    const [one, two, three] = [{ access_keys: ['a'] }, { access_keys: ['a', 'b'] }, { access_keys: ['b'] }].map(
      content,
    );
    if (one === undefined || two === undefined || three === undefined) throw new Error('three');
    const { source, kept, reads } = await sourceOf([one, two]);
    const explained = new ExplainedVersions();
    await explained.list(source);
    expect(reads).toEqual([kept[0]?.id]);
    const changed = await explained.list({ ...source, present: async () => three });
    expect(reads).toHaveLength(1);
    expect(changed.map(({ isNow, difference }) => [isNow, difference])).toEqual([
      [false, { added: 1, removed: 0, changed: 0, places: [] }],
      [false, { added: 1, removed: 1, changed: 0, places: [] }],
    ]);
  });

  it('that are damaged say nothing, and those before are compared with the next that is whole', async () => {
    const { source, kept } = await sourceOf(
      [{ access_keys: ['a'] }, { access_keys: ['a', 'b'] }, { access_keys: [] }].map(content),
    );
    const read = (id: string) => (id === kept[1]?.id ? Promise.reject(new Error('damaged')) : source.read(id));
    const [, damaged, first] = await new ExplainedVersions().list({ ...source, read });
    expect(damaged).toMatchObject({ difference: null, next: null });
    expect(first?.next).toMatchObject({ added: 1, removed: 0 });
    const broken = await new ExplainedVersions().list({ ...source, present: () => Promise.reject(new Error('away')) });
    expect(broken.map(({ isNow, difference }) => [isNow, difference])).toEqual(kept.map(() => [false, null]));
  });
});
