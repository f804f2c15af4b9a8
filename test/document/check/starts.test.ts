import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ResolvedRevision, resolveRevision } from '../../../revisions/index.js';
import { fitFor } from '../../../src/commands/config/fit.js';
import { checkFile } from '../../../src/document/check/file-check.js';
import { readServerText } from '../../../src/document/check/server-text.js';
import { startProblem } from '../../../src/document/check/start.js';
import { readDocument } from '../../../src/document/document.js';
import { isJsonObject, type JsonValue, parseJson } from '../../../src/wire/json/json.js';
import { encodeJson } from '../../../src/wire/json/write-json.js';
import { snapshotWithoutName } from '../../../src/wire/traits/snapshot.js';

const STARTS = join(import.meta.dirname, '../../../fixtures/starts');

function lineOf(version: string): ResolvedRevision {
  const resolved = resolveRevision(version);
  if (!resolved.ok) throw new Error(resolved.problem);
  return resolved;
}

interface Recorded {
  readonly name: string;
  readonly bytes: Buffer;
  readonly entry: Readonly<Record<string, JsonValue>>;
}

/** The files that servers of a version were given, with addresses for the placeholders. */
function recordedOf(version: string): readonly Recorded[] {
  const table = parseJson(readFileSync(join(STARTS, `${version}.json`)));
  if (!isJsonObject(table)) throw new Error(`${version}: expected an object`);
  return Object.entries(table).flatMap(([name, entry]) => {
    if (!isJsonObject(entry) || typeof entry.text !== 'string') throw new Error(`${version}: ${name}`);
    const text = entry.text
      .replaceAll(/"@(API|UDP)PORT\d*@"|@(API|UDP)PORT\d*@/g, '40000')
      .replaceAll('@API@', '127.0.0.1:9090')
      .replaceAll('@LISTEN@', '127.0.0.1:50000');
    return [{ name, bytes: Buffer.from(text), entry }];
  });
}

/** A value as a text that does not depend on the order of members and lists of keys. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'bigint') return member > Number.MAX_SAFE_INTEGER ? `u64:${member}` : Number(member);
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Keys as a list of a revision shows them. */
function shown(keys: readonly JsonValue[]): readonly string[] {
  return keys.map(sorted).sort();
}

const VERSIONS = readdirSync(STARTS).flatMap((name) => /^(.*)\.json$/.exec(name)?.[1] ?? []);

describe.each(VERSIONS)('what a server of %s was seen to make of a file', (version) => {
  const { revision } = lineOf(version);
  const recorded = recordedOf(version);
  const started = recorded.filter(({ entry }) => entry.starts === true);
  const hasNames = revision.snapshot !== snapshotWithoutName;

  function keysOf(bytes: Buffer, from: 'server' | 'Keyway'): readonly string[] {
    const keys =
      from === 'server' ? fitFor(checkFile(bytes), lineOf(version)).keys : readDocument(bytes).configuration.keys;
    return shown(
      (keys ?? []).map(({ accessKey, name, limitBytes }) => {
        return { access_key: accessKey, ...(hasNames ? { name } : {}), limit_bytes: limitBytes };
      }),
    );
  }

  it('whether it starts, is what the check says of it', () => {
    const said = recorded.map(({ name, bytes }) => {
      const problem = startProblem(readServerText(bytes), revision.file);
      return { name, starts: problem === null };
    });
    expect(said).toEqual(recorded.map(({ name, entry: { starts } }) => ({ name, starts })));
  });

  it('the keys that it has are what the check says, and what Keyway lists but for empty ones', () => {
    const listed = started.filter(({ entry }) => Array.isArray(entry.keys));
    expect(listed.length).toBeGreaterThan(10);
    for (const { name, bytes, entry } of listed) {
      const keys = shown(Array.isArray(entry.keys) ? entry.keys : []);
      expect(keysOf(bytes, 'server'), name).toEqual(keys);
      const usable = keys.filter((key) => !key.startsWith('{"access_key":"",'));
      expect(keysOf(bytes, 'Keyway'), name).toEqual(usable);
    }
  });

  // Where an engine answers for DNS, it is Keyway's own, with its own defaults.
  it('its DNS settings of older forms and its rules are what Keyway reads', () => {
    const { dns, rules } = revision.capabilities;
    const form = dns?.form;
    for (const { name, bytes, entry } of started) {
      const { configuration } = readDocument(bytes);
      if (form !== undefined && isJsonObject(entry.dns) && entry.dns.error === undefined) {
        const read = parseJson(Buffer.from(encodeJson(form.encode(configuration.dns))));
        expect(sorted(read), name).toBe(sorted(entry.dns));
      }
      if (rules === undefined || entry.rules === undefined) continue;
      const read = (configuration.outbound?.rules ?? []).map((rule) => rules.form.encode(rule));
      expect(sorted(parseJson(Buffer.from(encodeJson(read)))), name).toBe(sorted(entry.rules));
    }
  });
});
