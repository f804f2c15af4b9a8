import { randomBytes } from 'node:crypto';
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
import { createWhole } from '../../../files/write-file.js';
import { failureWords } from '../../../platform/failure-words.js';
import { unlessMissing } from '../../../platform/presence.js';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../../wire/json/json.js';
import { type Encodable, encodeJson } from '../../../wire/json/write-json.js';

/** A change of the file, as `ReappliedChanges.record` takes it, with its time in milliseconds since the epoch. */
export interface JournalLine {
  readonly at: number;
  readonly former: ConfigurationChange;
  readonly written: ConfigurationChange;
}

export type UnreadJournal = ReturnType<typeof createUnreadJournal>;

export interface UnreadJournalOptions {
  readonly path: string;
  /** Names this boot of the system; empty where it does not tell, which it takes for another one. */
  readonly boot: string;
  /** The time that a line counts. */
  readonly milliseconds: number;
  readonly fileSystem: FileSystemPort;
  readonly clock: ClockPort;
  readonly log: LogPort;
}

const MODE = 0o600;
/** Lines that no longer count may take so many bytes before the rest is written anew. */
const SPARE_BYTES = 256 * 1024;

/** A line that counts, as it stands in the file. */
interface WrittenLine {
  /** Monotonic, ms. */
  readonly at: number;
  readonly text: Buffer;
}

/**
 * The last changes of the file in the data folder, so that a Keyway that was killed still knows them when it is started
 * again. Not synced: after a fall of the system no server runs that has not read the file.
 */
export function createUnreadJournal(options: UnreadJournalOptions) {
  const { path, boot, milliseconds, fileSystem, clock, log } = options;
  let lines: WrittenLine[] = [];
  /** Bytes of the file that no longer count; infinite where it does not stand as it should. */
  let spare = Number.POSITIVE_INFINITY;
  let isFailing = false;

  async function writeAnew(): Promise<void> {
    const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
    const head = Buffer.from(`${encodeJson({ boot })}\n`);
    const content = Buffer.concat([head, ...lines.map((line) => line.text)]);
    await createWhole(fileSystem, { path, temporary }, () => fileSystem.create(temporary, content, MODE, 'folder'));
    spare = 0;
  }

  /** Appends a line, or writes all that counts where that fails, also to a folder that was made again. */
  async function put(text: Buffer): Promise<void> {
    if (spare > SPARE_BYTES) return writeAnew();
    await fileSystem.append(path, text).catch(writeAnew);
  }

  return {
    /** The changes that a Keyway of the same boot of the system has written, oldest first. Damaged lines are passed over. */
    async read(): Promise<readonly JournalLine[]> {
      const bytes = await unlessMissing(fileSystem.read(path, FILE_LIMITS.configuration)).catch(() => null);
      const [head, ...rest] = (bytes?.toString('utf8') ?? '').split('\n').map(parsed);
      if (boot === '' || !isJsonObject(head) || head.boot !== boot) return [];
      const found = rest.flatMap((value) => (isJsonObject(value) ? (lineOf(value) ?? []) : []));
      // The first one that is added goes into a file of its own, with these.
      lines = found.map((line) => ({ at: onMonotonicClock(clock, line.at), text: textOf(line) }));
      return found;
    },
    /** Never rejects: the change is in the file, whatever becomes of this. */
    async add(line: JournalLine): Promise<void> {
      if (milliseconds === 0 || boot === '') return;
      const added = { at: clock.monotonic(), text: textOf(line) };
      for (let [first] = lines; first && first.at < added.at - milliseconds; [first] = lines) {
        spare += first.text.length;
        lines.shift();
      }
      lines.push(added);
      try {
        await put(added.text);
        isFailing = false;
      } catch (error) {
        // The next one writes all of it, because nobody knows what stands there.
        spare = Number.POSITIVE_INFINITY;
        if (!isFailing) log.warn({ file: path, reason: failureWords(error) }, NOT_NOTED);
        isFailing = true;
      }
    },
  };
}

function textOf(line: JournalLine): Buffer {
  return Buffer.from(`${encodeJson(encodeLine(line))}\n`);
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

function encodeLine({ at, former, written }: JournalLine): Encodable {
  return { at, former: encodeChange(former), written: encodeChange(written) };
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
