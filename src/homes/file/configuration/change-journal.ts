import { FILE_LIMITS } from '../../../core/file-limits.js';
import { onMonotonicClock } from '../../../core/kept-time.js';
import { recordBy, valueIn } from '../../../core/keys/key-record.js';
import type {
  AccessKey,
  ConfigurationChange,
  DnsChange,
  DnsList,
  DnsRewrite,
  ResolverSettings,
} from '../../../core/model.js';
import type { ClockPort, FileSystemPort, LogPort } from '../../../core/ports.js';
import { UnconfirmedJournal } from '../../../files/unconfirmed-journal.js';
import { unlessMissing } from '../../../platform/presence.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../../wire/json/json.js';
import { type Encodable, encodeJson } from '../../../wire/json/write-json.js';

/** A change of the file, as `UnconfirmedChanges.record` takes it. */
export interface FileChange {
  readonly former: ConfigurationChange;
  readonly written: ConfigurationChange;
}

/** A change with its time in milliseconds since the epoch. */
export interface JournalLine extends FileChange {
  readonly at: number;
}

export type ChangeJournal = ReturnType<typeof createChangeJournal>;

export interface ChangeJournalOptions {
  readonly path: string;
  /** Names this boot of the system; empty where it does not tell, which it takes for another one. */
  readonly boot: string;
  /** The time that a line counts. */
  readonly milliseconds: number;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
}

/** A line that counts, as it stands in the file. */
interface WrittenLine {
  /** Monotonic, ms. */
  readonly at: number;
  readonly text: string;
}

/**
 * The last changes of the file in the data folder, so that a Keyway that was killed still knows them when it is started
 * again. Not synced: after a fall of the system no server runs that has not read the file.
 */
export function createChangeJournal({ path, boot, milliseconds, fileSystem, clock, log }: ChangeJournalOptions) {
  let lines: WrittenLine[] = [];
  /** The change that is being written, as it stands in the file. */
  let intended: { readonly of: FileChange; readonly text: string } | null = null;
  /** The change that was added last. */
  let added: FileChange | null = null;
  const isNeeded = milliseconds > 0 && boot !== '';
  const journal = new UnconfirmedJournal({
    ...{ fileSystem, path, log, failure: NOT_NOTED, outlivesSystem: false },
    whole: () => [`${encodeJson({ boot })}\n`, ...lines.map(({ text }) => text), intended?.text ?? ''],
  });

  function keep(text: string): void {
    const at = clock.monotonic();
    for (let [first] = lines; first && first.at < at - milliseconds; [first] = lines) lines.shift();
    lines.push({ at, text });
  }

  return {
    /** Reads what a Keyway of the same boot of the system has noted. Damaged lines are passed over. */
    async read(): Promise<NotedChanges> {
      const bytes = await unlessMissing(fileSystem.read(path, FILE_LIMITS.configuration)).catch(() => null);
      const [head, ...rest] = (bytes?.toString('utf8') ?? '').split('\n').map(parsed);
      if (boot === '' || !isJsonObject(head) || head.boot !== boot) return NOTHING_NOTED;
      const noted = notedIn(rest);
      // The first one that is added goes into a file of its own, with these.
      lines = noted.written.map((line) => ({ at: onMonotonicClock(clock, line.at), text: textOf(line) }));
      return noted;
    },
    /** Notes a change that is about to be written: killed at that, the next Keyway looks whether it was. Never rejects. */
    async intend(change: FileChange): Promise<void> {
      if (!isNeeded) return;
      intended = { of: change, text: textOf({ ...change, at: clock.now() }, { intended: true }) };
      await journal.note(intended.text);
    },
    /** Notes, once, that the change is in the file, which it is whatever becomes of this. Never rejects. */
    async add(change: FileChange): Promise<void> {
      if (!isNeeded || change === added) return;
      added = change;
      const at = clock.now();
      const before = intended?.of === change ? intended.text : '';
      const text = before === '' ? textOf({ ...change, at }) : `{"done":${at}}\n`;
      if (before !== '') intended = null;
      keep(before + text);
      await journal.note(text);
    },
    close: () => journal.close(),
  };
}

/** The noted changes, oldest first. */
interface NotedChanges {
  readonly written: readonly JournalLine[];
  /** The one that the Keyway before may have been killed at. */
  readonly intended: JournalLine | null;
}

const NOTHING_NOTED: NotedChanges = { written: [], intended: null };

function notedIn(values: readonly JsonValue[]): NotedChanges {
  const written: JournalLine[] = [];
  let intended: JournalLine | null = null;
  for (const value of values) {
    if (!isJsonObject(value)) continue;
    const line = lineOf(value);
    const { done } = value;
    if (line === null && typeof done !== 'bigint') continue;
    if (typeof done === 'bigint' && intended !== null) written.push({ ...intended, at: Number(done) });
    else if (line !== null && value.intended !== true) written.push(line);
    // One that another line follows, and that is not done, was not written.
    intended = value.intended === true ? line : null;
  }
  return { written, intended };
}

function textOf({ at, former, written }: JournalLine, more: { readonly intended?: true } = {}): string {
  const line = { ...more, at, former: encodeChange(former), written: encodeChange(written) };
  return `${encodeJson(line)}\n`;
}

const NOT_NOTED =
  'changes of the configuration file cannot be noted in the data folder: if Keyway is killed, a server may take back the last ones';

function parsed(text: string): JsonValue {
  try {
    return parseJson(Buffer.from(text));
  } catch {
    return null;
  }
}

function encodeChange({ keys, rules, dns }: ConfigurationChange): Encodable {
  const records = [...(keys ?? [])].map(([key, record]): Encodable => [key, record === null ? null : { ...record }]);
  return {
    ...(keys && { keys: records }),
    ...(rules && { rules: rules.map((rule) => ({ ...rule })) }),
    ...(dns && { dns: encodeDns(dns) }),
  };
}

function encodeDns({ resolver, ...dns }: DnsChange): Encodable {
  if (!resolver) return { ...dns, ...(resolver === null && { resolver }) };
  const { lists, allowlists, rewrites, ...others } = resolver;
  const plain = { lists: lists.map(copied), allowlists: allowlists.map(copied), rewrites: rewrites.map(copied) };
  return { ...dns, resolver: { ...others, ...plain } };
}

/** An interface's value as one of a type that can be encoded. */
function copied<T extends DnsList | DnsRewrite>(value: T): { [K in keyof T]: T[K] } {
  return { ...value };
}

function lineOf({ at, former, written }: JsonObject): JournalLine | null {
  if (typeof at !== 'bigint' || !isJsonObject(former) || !isJsonObject(written)) return null;
  return { at: Number(at), former: changeOf(former), written: changeOf(written) };
}

function changeOf({ keys, rules, dns }: JsonObject): ConfigurationChange {
  return {
    ...(Array.isArray(keys) && { keys: new Map(keys.flatMap(recordOf)) }),
    // Written here and nowhere else, in the very form of the type.
    ...(Array.isArray(rules) && { rules: rules as unknown as NonNullable<ConfigurationChange['rules']> }),
    ...(isJsonObject(dns) && { dns: dnsOf(dns) }),
  };
}

function recordOf(pair: JsonValue): readonly (readonly [string, AccessKey | null])[] {
  const [accessKey, record] = Array.isArray(pair) ? pair : [];
  if (typeof accessKey !== 'string') return [];
  if (!isJsonObject(record)) return [[accessKey, null]];
  return [[accessKey, recordBy(accessKey, (field) => valueIn(field, record[field.name]))]];
}

function dnsOf(members: JsonObject): DnsChange {
  const { customDomains, ...others } = members;
  return {
    ...Object.fromEntries(Object.entries(others).map(([name, value]) => [name, withNumbers(value)])),
    ...(isJsonObject(customDomains) && {
      customDomains: new Map(Object.entries(customDomains).map(([name, address]) => [name, String(address)])),
    }),
  };
}

/** The integers of 64 bits, which stay bigint. */
const LARGE: readonly string[] = ['cacheSize', 'queryLogSize'] satisfies (keyof ResolverSettings)[];

/** JSON as it was written, other integers as numbers again. */
function withNumbers(value: JsonValue): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return value.map(withNumbers);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, LARGE.includes(name) ? member : withNumbers(member)]),
  );
}
