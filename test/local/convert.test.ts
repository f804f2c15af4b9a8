import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertFile } from '../../src/local/convert.js';
import { commentsBetween } from '../../src/local/document/comments.js';
import { type ConfigurationDocument, readDocument } from '../../src/local/document/document.js';
import { isJsonObject, type JsonValue, parseJson } from '../../src/wire/json.js';
import { ROOT } from '../build.js';
import { anyFile } from './document/generated.js';

const sample = (name: string) => readFile(join(ROOT, 'fixtures/samples', name));

function there(bytes: Buffer): Buffer {
  const { layout } = readDocument(bytes).document;
  return convertFile(bytes, layout.name === 'inbounds' ? 'access_keys' : 'inbounds').bytes;
}

/** The comments inside the brackets of the lists of keys, in their order. */
function besideKeys({ bytes, lists }: ConfigurationDocument): readonly string[] {
  return lists.flatMap(({ open, close }) => commentsBetween(bytes, open, close).map(({ text }) => text));
}

function allComments(bytes: Buffer): readonly string[] {
  return commentsBetween(bytes, 0, bytes.length)
    .map(({ text }) => text)
    .toSorted();
}

/** The elements of all lists, as values, the key under one name. */
function elements({ bytes, lists, layout }: ConfigurationDocument): readonly JsonValue[] {
  return lists.flatMap(({ starts, ends }) =>
    Array.from(starts, (start, index) => {
      const element = parseJson(bytes.subarray(start, ends[index]), { comments: true, duplicates: 'last' });
      if (!isJsonObject(element)) return element;
      return Object.fromEntries(
        Object.entries(element).map(([name, value]) => [name === layout.keyMember ? 'KEY' : name, value]),
      );
    }),
  );
}

describe('converting a file and back', () => {
  it('is the identity on keys, names, limits, order, elements and the comments beside the keys', () => {
    fc.assert(
      fc.property(anyFile, ({ text }) => {
        const bytes = Buffer.from(text);
        const before = readDocument(bytes);
        const converted = there(bytes);
        const middle = readDocument(converted);
        expect(middle.document.layout.name).not.toBe(before.document.layout.name);
        const after = readDocument(there(converted));
        for (const { configuration, document } of [middle, after]) {
          expect(configuration.keys).toEqual(before.configuration.keys);
          expect(elements(document)).toEqual(elements(before.document));
          expect(besideKeys(document)).toEqual(besideKeys(before.document));
        }
        expect(after.document.layout.name).toBe(before.document.layout.name);
      }),
      { numRuns: 150 },
    );
  });

  it('loses no comment of the file', () => {
    fc.assert(
      fc.property(anyFile, ({ text }) => {
        const bytes = Buffer.from(text);
        expect(allComments(there(bytes))).toEqual(allComments(bytes));
      }),
      { numRuns: 150 },
    );
  });

  it('of the sample with access_keys gives a file that reads the same, and then the same again, without a loss', async () => {
    const bytes = await sample('server.jsonc');
    const before = readDocument(bytes).configuration;
    const { bytes: converted, losses } = convertFile(bytes, 'inbounds');
    expect(losses).toEqual([]);
    expect(readDocument(converted).configuration).toEqual(before);
    const back = convertFile(converted, 'access_keys');
    expect(back.losses).toEqual([]);
    expect(readDocument(back.bytes).configuration).toEqual(before);
  });
});
