import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccessKey } from '../../../src/core/model.js';
import { changeDocument } from '../../../src/document/change.js';
import { type ConfigurationDocument, readDocument } from '../../../src/document/document.js';
import { readElement } from '../../../src/document/element.js';
import { isJsonObject, type JsonValue, parseJson } from '../../../src/wire/json/json.js';
import { anyChange, anyDns, anyFile, anyKeys, anyRules } from './generated.js';

const RUNS = { numRuns: 150 };

const TOKENS = /"(?:[^"\\]|\\.)*"|\/\*[\s\S]*?\*\/|(?:\/\/|#)[^\r\n]*/g;

interface Comment {
  readonly at: number;
  readonly text: string;
}

/** The comments of a file, with their byte offsets. */
function commentsOf(bytes: Buffer): readonly Comment[] {
  return [...bytes.toString('latin1').matchAll(TOKENS)].flatMap(({ 0: text, index }) =>
    text.startsWith('"') ? [] : [{ at: index, text }],
  );
}

const textsOf = (comments: readonly Comment[]): readonly string[] => comments.map(({ text }) => text);

function parse(bytes: Buffer): JsonValue {
  return parseJson(bytes, { comments: true, duplicates: 'last' });
}

/** The keys of each list, as the elements stand. */
function listed(document: ConfigurationDocument): readonly (readonly string[])[] {
  return document.lists.map((list) => Array.from(list.starts, (start, i) => keyOf(document, start, list.ends[i] ?? 0)));
}

function keyOf(document: ConfigurationDocument, start: number, end: number): string {
  const value = parse(document.bytes.subarray(start, end));
  const key = isJsonObject(value) ? value[document.layout.keyMember] : value;
  return typeof key === 'string' ? key : '';
}

/** What the keys ought to be after a change, worked out from the lists of keys alone. */
function expectedKeys(
  before: ConfigurationDocument,
  records: readonly AccessKey[],
  change: ReadonlyMap<string, AccessKey | null>,
): readonly AccessKey[] {
  const known = new Map(records.map((record) => [record.accessKey, record]));
  const lists = listed(before).map((keys) => keys.filter((key) => known.has(key) && change.get(key) !== null));
  const added = [...change].flatMap(([key, record]) => (record !== null && !known.has(key) ? [key] : []));
  const home = before.hasHome ? [[...(lists[0] ?? []), ...added], ...lists.slice(1)] : [added, ...lists];
  return [...new Set(home.flat())].map(
    (key) => change.get(key) ?? known.get(key) ?? { accessKey: key, name: null, limitBytes: null },
  );
}

/** A value without what a kind of change may touch. */
function without(value: JsonValue, names: readonly string[]): JsonValue {
  if (Array.isArray(value)) return value.map((element) => without(element, names));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => (names.includes(name) ? [] : [[name, without(member, names)]])),
  );
}

/** Unknown members of the elements, by key: the first element of each. */
function notes(document: ConfigurationDocument): ReadonlyMap<string, JsonValue | undefined> {
  const found = new Map<string, JsonValue | undefined>();
  for (const list of document.lists) {
    for (const [i, start] of list.starts.entries()) {
      const value = parse(document.bytes.subarray(start, list.ends[i] ?? 0));
      const key = keyOf(document, start, list.ends[i] ?? 0);
      if (!found.has(key)) found.set(key, isJsonObject(value) ? value.note : undefined);
    }
  }
  return found;
}

/** Comments that are neither inside an element whose key is removed nor inside a name or limit that may go. */
function keptComments(
  document: ConfigurationDocument,
  change: ReadonlyMap<string, AccessKey | null>,
): readonly Comment[] {
  const gone = document.lists.flatMap((list) =>
    Array.from(list.starts, (start, i) => ({ start, end: list.ends[i] ?? 0 })).flatMap(({ start, end }) => {
      const record = change.get(keyOf(document, start, end));
      if (record === null) return [{ start, end }];
      if (record === undefined || document.bytes[start] !== 0x7b) return [];
      const members = readElement(document.bytes, start).members.filter(
        ({ name }) => name === 'name' || name === 'limit_bytes',
      );
      return members.map((member) => ({ start: member.start, end: member.value.end }));
    }),
  );
  return commentsOf(document.bytes).filter(({ at }) => !gone.some(({ start, end }) => at >= start && at < end));
}

/** Those of the second list that the first has too, in the second's order. */
function among(all: readonly string[], texts: readonly string[]): readonly string[] {
  const set = new Set(all);
  return texts.filter((text) => set.has(text));
}

/** The bytes outside the key lists. */
function outside({ bytes, lists }: ConfigurationDocument): readonly string[] {
  const cuts = [0, ...lists.flatMap(({ open, close }) => [open, close]), bytes.length];
  return cuts.flatMap((from, i) => (i % 2 === 0 ? [bytes.toString('utf8', from, cuts[i + 1])] : []));
}

describe('any file, any changes', () => {
  it('key changes do what was asked and nothing else', () => {
    fc.assert(
      fc.property(anyFile, fc.array(anyKeys, { minLength: 1, maxLength: 4 }), ({ text }, changes) => {
        let { document, configuration } = readDocument(Buffer.from(text));
        for (const keys of changes) {
          const before = document;
          const wanted = expectedKeys(before, configuration.keys, keys);
          document = changeDocument(before, { keys });
          const again = readDocument(document.bytes);
          expect(document).toEqual(again.document);
          expect(again.configuration.keys).toEqual(wanted);
          expect(without(parse(document.bytes), ['access_keys', 'users'])).toEqual(
            without(parse(before.bytes), ['access_keys', 'users']),
          );
          const comments = textsOf(commentsOf(document.bytes));
          const kept = textsOf(keptComments(before, keys));
          expect(among(kept, comments)).toEqual(kept);
          expect(among(comments, textsOf(commentsOf(before.bytes)))).toEqual(comments);
          if (document.lists.length === before.lists.length) expect(outside(document)).toEqual(outside(before));
          const noted = notes(document);
          for (const [key, note] of notes(before)) if (noted.has(key)) expect(noted.get(key)).toEqual(note);
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
        expect(without(parse(after.bytes), ['rules'])).toEqual(without(parse(document.bytes), ['rules']));
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
        expect(without(parse(after.bytes), ['dns'])).toEqual(without(parse(document.bytes), ['dns']));
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
