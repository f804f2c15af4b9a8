import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccessKey } from '../../src/core/model.js';
import { changeDocument } from '../../src/document/change.js';
import { type ConfigurationDocument, readDocument } from '../../src/document/document.js';
import { tries } from '../tries.js';
import { WHOLE } from '../whole.js';
import { anyChange, anyDns, anyFile, anyKeys, anyRules } from './generated.js';
import { type Comment, commentsOf, type JudgedFile, type JudgedValue, judge, keysOf } from './judge.js';

const RUNS = { numRuns: tries(WHOLE ? 50 : 25) };

const textsOf = (comments: readonly Comment[]): readonly string[] => comments.map(({ text }) => text);

/** What the keys ought to be after a change, worked out from the lists of keys alone. */
function expectedKeys(
  { lists, hasHome }: JudgedFile,
  records: readonly AccessKey[],
  change: ReadonlyMap<string, AccessKey | null>,
): readonly AccessKey[] {
  const known = new Map(records.map((record) => [record.accessKey, record]));
  const listed = lists.map(({ elements }) => elements.map(({ key }) => key));
  const left = listed.map((keys) => keys.filter((key) => known.has(key) && change.get(key) !== null));
  const added = [...change].flatMap(([key, record]) => (record !== null && !known.has(key) ? [key] : []));
  const home = hasHome ? [[...(left[0] ?? []), ...added], ...left.slice(1)] : [added, ...left];
  return [...new Set(home.flat())].map(
    (key) => change.get(key) ?? known.get(key) ?? { accessKey: key, name: null, limitBytes: null },
  );
}

/** A value without what a kind of change may touch. */
function without(value: JudgedValue, names: readonly string[]): JudgedValue {
  if (value instanceof Map)
    return new Map(
      [...value].flatMap(([name, member]) => (names.includes(name) ? [] : [[name, without(member, names)]])),
    );
  return Array.isArray(value) ? value.map((element) => without(element, names)) : value;
}

/** Unknown members of the elements, by key: the last element of each. */
function notes({ lists }: JudgedFile): ReadonlyMap<string, JudgedValue | undefined> {
  const found = new Map<string, JudgedValue | undefined>();
  for (const { key, value } of lists.flatMap(({ elements }) => elements))
    found.set(key, value instanceof Map ? value.get('note') : undefined);
  return found;
}

/** Comments that are neither inside an element whose key is removed nor inside a name or limit that may go. */
function keptComments(
  bytes: Buffer,
  { lists }: JudgedFile,
  change: ReadonlyMap<string, AccessKey | null>,
): readonly Comment[] {
  const gone = lists
    .flatMap(({ elements }) => elements)
    .flatMap(({ start, end, key, columns }) => {
      const record = change.get(key);
      if (record === null) return [{ start, end }];
      return record === undefined ? [] : columns;
    });
  return commentsOf(bytes).filter(({ at }) => !gone.some(({ start, end }) => at >= start && at < end));
}

/** Those of the second list that the first has too, in the second's order. */
function among(all: readonly string[], texts: readonly string[]): readonly string[] {
  const set = new Set(all);
  return texts.filter((text) => set.has(text));
}

/** The bytes outside the key lists. */
function outside(bytes: Buffer, { lists }: JudgedFile): readonly string[] {
  const cuts = [0, ...lists.flatMap(({ open, close }) => [open, close]), bytes.length];
  return cuts.flatMap((from, i) => (i % 2 === 0 ? [bytes.toString('utf8', from, cuts[i + 1])] : []));
}

/** The spans of the key lists and their elements, as Keyway found them. */
function spansOf({ lists }: ConfigurationDocument) {
  return lists.map(({ open, close, starts, ends }) => ({ open, close, starts: [...starts], ends: [...ends] }));
}

function judgedSpans({ lists }: JudgedFile): ReturnType<typeof spansOf> {
  return lists.map(({ open, close, elements }) => ({
    open,
    close,
    starts: elements.map(({ start }) => start),
    ends: elements.map(({ end }) => end),
  }));
}

describe('any file, any changes', () => {
  it('key changes do what was asked and nothing else', () => {
    fc.assert(
      fc.property(anyFile, fc.array(anyKeys, { minLength: 1, maxLength: 4 }), ({ text }, changes) => {
        let { document, configuration } = readDocument(Buffer.from(text));
        for (const keys of changes) {
          const before = document;
          const judgedBefore = judge(before.bytes);
          const wanted = expectedKeys(judgedBefore, configuration.keys, keys);
          document = changeDocument(before, { keys });
          const judged = judge(document.bytes);
          const again = readDocument(document.bytes);
          expect(document).toEqual(again.document);
          expect(again.configuration.keys).toEqual(wanted);
          expect(keysOf(judged)).toEqual(wanted);
          expect(spansOf(document)).toEqual(judgedSpans(judged));
          expect(without(judged.root, ['access_keys', 'users'])).toEqual(
            without(judgedBefore.root, ['access_keys', 'users']),
          );
          const comments = textsOf(commentsOf(document.bytes));
          const kept = textsOf(keptComments(before.bytes, judgedBefore, keys));
          expect(among(kept, comments)).toEqual(kept);
          expect(among(comments, textsOf(commentsOf(before.bytes)))).toEqual(comments);
          if (document.lists.length === before.lists.length)
            expect(outside(document.bytes, judged)).toEqual(outside(before.bytes, judgedBefore));
          const noted = notes(judged);
          for (const [key, note] of notes(judgedBefore)) if (noted.has(key)) expect(noted.get(key)).toEqual(note);
          configuration = again.configuration;
        }
      }),
      RUNS,
    );
  });

  it('a key change that says what the file says changes no byte', () => {
    fc.assert(
      fc.property(anyFile, ({ text }) => {
        const { document, configuration } = readDocument(Buffer.from(text));
        const changed = changeDocument(document, {
          rules: configuration.outbound?.rules ?? [],
          ...(/"dns"/.test(text) ? { dns: configuration.dns } : {}),
        });
        const faulty = configuration.warnings.some((warning) => !warning.includes('these keys count too'));
        if (!faulty) expect(changed.bytes.equals(document.bytes)).toBe(true);
        const keys = new Map(configuration.keys.map((record) => [record.accessKey, record]));
        if (!faulty) expect(changeDocument(document, { keys })).toBe(document);
      }),
      RUNS,
    );
  });

  it('rules are replaced as a whole, everything else stays', () => {
    fc.assert(
      fc.property(anyFile, anyRules, ({ text }, rules) => {
        const { document, configuration } = readDocument(Buffer.from(text));
        const after = changeDocument(document, { rules });
        const again = readDocument(after.bytes);
        expect(after).toEqual(again.document);
        expect(again.configuration).toEqual({
          ...configuration,
          outbound: configuration.outbound && { ...configuration.outbound, rules },
          warnings: again.configuration.warnings,
        });
        expect(without(judge(after.bytes).root, ['rules'])).toEqual(without(judge(document.bytes).root, ['rules']));
      }),
      RUNS,
    );
  });

  it('DNS settings are set one by one, everything else stays', () => {
    fc.assert(
      fc.property(anyFile, anyDns, ({ text }, dns) => {
        const { document, configuration } = readDocument(Buffer.from(text));
        const after = changeDocument(document, { dns });
        const again = readDocument(after.bytes);
        expect(after).toEqual(again.document);
        expect(again.configuration.dns).toEqual({ ...configuration.dns, ...dns });
        expect(without(judge(after.bytes).root, ['dns'])).toEqual(without(judge(document.bytes).root, ['dns']));
        expect(textsOf(commentsOf(after.bytes)).length).toBeLessThanOrEqual(commentsOf(document.bytes).length);
      }),
      RUNS,
    );
  });

  it('sequences of mixed changes never let the spans drift', () => {
    fc.assert(
      fc.property(anyFile, fc.array(anyChange, { maxLength: 6 }), ({ text }, changes) => {
        let { document } = readDocument(Buffer.from(text));
        for (const change of changes) document = changeDocument(document, change);
        expect(document).toEqual(readDocument(document.bytes).document);
      }),
      RUNS,
    );
  });
});
