import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Backend, BackendSettings, ChangeReason, MissedChanges, PastChanges } from '../core/backend.js';
import type { KeptRecords, RecordChange } from '../core/kept-records.js';
import type { KeyChange } from '../core/keys/change-log.js';
import { Lease } from '../core/lease.js';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import { encodeJson } from '../wire/json/write-json.js';
import { markOf, type StateMark } from './state-mark.js';

/** The kinds of events. */
export const EVENT_TYPES = [
  'key.created',
  'key.changed',
  'key.removed',
  'key.over_limit',
  'key.reset',
  'key.rotated',
  'configuration.changed',
  'server.away',
  'server.back',
  'server.updated',
  'job.ended',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** A key that an event tells of, as it was then; `name` is null for one that is gone. */
export type EventKey = { readonly access_key: string; readonly name: string | null };

/** Texts and numbers that say more of an event, and `keys`, those that it tells of. */
export type EventData = Readonly<Record<string, string | number | boolean | null | readonly EventKey[]>>;

/** Something that happened. */
export interface OwnEvent {
  readonly id: string;
  /** RFC 3339, in UTC. */
  readonly time: string;
  readonly type: EventType;
  readonly data: EventData;
}

/** A running server behind Keyway, as far as events tell of it. */
export interface EventServer {
  isAway(): Promise<boolean>;
  /** Null while it is not known. */
  version(): string | null;
}

type Happened = Pick<OwnEvent, 'type' | 'data'>;

/** What is written down in one with events. */
interface Beside {
  /** The mark of the state up to which these and those before are all that has changed. */
  readonly mark?: string | StateMark | null;
  /** A record that becomes another one with them; they have been written down where it is not as expected. */
  readonly noted?: RecordChange;
}

export interface EventsOptions {
  readonly backend: Pick<Backend, 'keys' | 'settings' | 'onChange' | 'replica' | 'past'>;
  readonly records: KeptRecords;
  /** Null where no server stands behind Keyway. */
  readonly server: EventServer | null;
  /** Follows the keys of a state elsewhere although nobody asks. */
  readonly isFollowing?: boolean;
  readonly clock: ClockPort;
  readonly random: RandomPort;
  readonly log: LogPort;
}

/** Milliseconds that events are kept, and the most of them, and of their characters. */
const KEPT = 7 * 86_400_000;
const MOST_EVENTS = 20_000;
const MOST_CHARACTERS = 16 * 2 ** 20;
/** Milliseconds in which changes become one event a kind. */
const GATHERED = 1_000;
/** Keys of one event, and characters of the keys and names that are told of what happens at once: more would push out all that was kept. */
const MOST_KEYS = 1_000;
const MOST_TOLD = MOST_CHARACTERS / 8;
/** Milliseconds between two looks at the server. */
const LOOK = 5_000;
/** Digits of the time in an id, which ids are in the order of. */
const TIME_DIGITS = 15;
/** The record of the id of the last event, by which gateways write one behind the other. */
const LAST = 'last';
/** The record of the mark of the state up to which all changes are events: noted with events where gateways share it, elsewhere at start and end. */
const OBSERVED = 'observed';
/** Milliseconds after which that mark is noted although nothing happened: what changed long before it may be forgotten. */
const NOTED = 600_000;
/** Events that are looked through in one go. */
const AT_ONCE = 200;
const EVENT_ID = /^\d{15}-[0-9a-f]{8}$/;

const TYPES: Readonly<Record<KeyChange, EventType>> = {
  created: 'key.created',
  changed: 'key.changed',
  removed: 'key.removed',
  reset: 'key.reset',
  over_limit: 'key.over_limit',
};

/** Keeps for a week what happens to the state. Of several gateways over one state one at a time writes it down. */
export class Events {
  readonly #options: EventsOptions;
  readonly #lease: Lease;
  readonly #listeners = new Set<() => void>();
  /** Ids of the kept events, oldest first. */
  #ids: string[] = [];
  #seen = 0;
  #settings: BackendSettings | null = null;
  /** Changes of the settings that are no events yet. */
  #configured: Happened[] = [];
  /** True where changes may be no events that the noted mark does not have. */
  #isBehind = false;
  #isCatchingUp = false;
  /** True where events could not be written down, and nothing tells which keys they were of. */
  #areLost = false;
  #noting: NodeJS.Timeout | null = null;
  #lastTime = 0;
  #gathering: NodeJS.Timeout | null = null;
  #looking: NodeJS.Timeout | null = null;
  #isAway = false;
  #isClosed = false;
  #version: string | null = null;
  #writing: Promise<unknown> = Promise.resolve();
  #stop: (() => void) | null = null;

  constructor(options: EventsOptions) {
    this.#options = options;
    const { records, random, clock } = options;
    const holder = random.uuid();
    this.#lease = new Lease({
      ...{ records, holder, clock },
      kind: 'events',
      id: 'lease',
      onHeld: () => this.#fallBehind(0),
    });
    this.#take([...records.of('events').keys()]);
    records.onChange('events', (ids) => {
      if (!this.#take(ids)) return;
      for (const listener of [...this.#listeners]) listener();
    });
  }

  /** True while this gateway is the one that observes the state and delivers. */
  isHolder(): boolean {
    return this.#lease.isHeld();
  }

  /** Observes the state from now on. */
  start(): void {
    const { backend, server } = this.#options;
    this.#lease.start();
    this.#settings = backend.settings();
    void this.#observeKeys();
    backend.onChange((reason) => {
      const settings = backend.settings();
      const isChanged = !isDeepStrictEqual(settings, this.#settings) || reason === 'replaced' || reason === 'restored';
      this.#settings = settings;
      if (!isChanged) return;
      this.#configured.push(configured(reason));
      this.#gatherSoon();
    });
    if (backend.past !== null) this.#noting = setInterval(() => this.#gather(true), NOTED).unref();
    if (server !== null) this.#look(server);
  }

  /** The keys of a server that is away at the start are none that are made once it is back. */
  async #observeKeys(): Promise<void> {
    const { backend, clock } = this.#options;
    const { changes } = backend.keys;
    for (let isKnown = backend.replica === null || backend.past !== null; !isKnown && !this.#isClosed; ) {
      isKnown = await this.#lastKnown();
      if (!isKnown) await new Promise((resolve) => setTimeout(resolve, LOOK).unref());
    }
    if (this.#isClosed) return;
    this.#seen = changes.version;
    this.#lastTime = Math.max(this.#lastTime, clock.now() - 1);
    if (backend.past === null) this.#tellUnobserved();
    this.#stop = changes.onChange(() => this.#gatherSoon());
  }

  /** Tells of what changed while nobody observed a state that this gateway has alone: before a crash, or while Keyway was stopped. */
  #tellUnobserved(): void {
    const { backend, records, server } = this.#options;
    const mark = markOf(backend.keys, backend.settings());
    const noted = records.of('events').get(OBSERVED);
    const before: StateMark = noted === undefined ? mark : JSON.parse(noted);
    const happened: Happened[] = [];
    // A server's settings are learned later than its keys.
    if (before.settings !== mark.settings && server === null) happened.push(configured('edited'));
    if (before.keys !== mark.keys) happened.push(WHOLE);
    this.#write(happened, { mark }).catch(() => this.#lose());
  }

  #gatherSoon(pause = GATHERED): void {
    if (!this.#isClosed) this.#gathering ??= setTimeout(() => this.#gather(), pause).unref();
  }

  /** Tells whether the keys are known, and has them followed for so long. A list that fails is told to whoever asks for it. */
  async #lastKnown(milliseconds = 0): Promise<boolean> {
    try {
      await this.#options.backend.replica?.lastKnown(milliseconds);
      return true;
    } catch {
      return false;
    }
  }

  /** Writes down what was gathered, and observes nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#looking !== null) clearTimeout(this.#looking);
    if (this.#gathering !== null) clearTimeout(this.#gathering);
    if (this.#noting !== null) clearInterval(this.#noting);
    this.#gather();
    this.#stop?.();
    await this.#writing;
    await this.#lease.close();
  }

  /** Notes that something has happened. Resolves once that outlives a crash. */
  emit(type: EventType, data: EventData): Promise<void> {
    return this.#write([{ type, data }]);
  }

  /** Notes that something has happened to keys: nothing, where there are none. Resolves as `emit` does. */
  emitKeys(type: EventType, accessKeys: readonly string[]): Promise<void> {
    return this.#write(this.ofKeys(type, accessKeys));
  }

  /** Notes what has happened and changes a record, both or neither: neither where that is not as expected. */
  emitOnce(happened: readonly Happened[], noted: RecordChange): Promise<void> {
    return this.#write(happened, { noted });
  }

  /** What is to be told of keys. */
  ofKeys(type: EventType, accessKeys: Iterable<string>): readonly Happened[] {
    const { keys } = this.#options.backend;
    const told = [...accessKeys].map((key): EventKey => ({ access_key: key, name: keys.get(key)?.name ?? null }));
    const characters = told.reduce((sum, { access_key, name }) => sum + access_key.length + (name?.length ?? 0), 0);
    if (characters > MOST_TOLD) return [{ type, data: WHOLE.data }];
    return inParts(told).map((part) => ({ type, data: { keys: part } }));
  }

  /** Called after events have come. Returns what ends it. */
  readonly onChange = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /** The id of the newest event; of none the one that all come after. */
  get newest(): string {
    return this.#ids.at(-1) ?? idOf(0, '00000000');
  }

  /** The events after an id, oldest first; null where some of these are not kept any more, or it is no id. */
  after(id: string, limit: number): readonly OwnEvent[] | null {
    if (!EVENT_ID.test(id) || id > this.newest) return null;
    const [oldest] = this.#ids;
    if (oldest !== undefined && id < oldest && timeOf(id) !== 0) return null;
    const from = this.#ids.findIndex((each) => each > id);
    return from === -1 ? [] : this.#ids.slice(from, from + limit).flatMap((each) => this.#event(each));
  }

  /** Has the event of an id looked for where it is not known here: another gateway may have written it. Rejects with `backendAway`. */
  async lookFor(id: string): Promise<void> {
    if (EVENT_ID.test(id) && this.after(id, 1) === null) await this.#options.records.lookUp?.();
  }

  /** The newest events, oldest first. */
  latest(limit: number): readonly OwnEvent[] {
    return this.#ids.slice(-limit).flatMap((id) => this.#event(id));
  }

  #event(id: string): readonly OwnEvent[] {
    const body = this.#options.records.of('events').get(id);
    // Only this class writes records with such an id.
    return body === undefined ? [] : [JSON.parse(body) as OwnEvent];
  }

  /** Takes in what became of records; false where none of them is an event. */
  #take(ids: readonly string[]): boolean {
    const records = this.#options.records.of('events');
    const changed = new Set(ids.filter((id) => EVENT_ID.test(id)));
    if (changed.size === 0) return false;
    const coming = [...changed].filter((id) => records.has(id)).sort();
    const staying = this.#ids.filter((id) => !changed.has(id));
    const isLater = (staying.at(-1) ?? '') < (coming[0] ?? '');
    this.#ids = isLater ? [...staying, ...coming] : [...staying, ...coming].sort();
    this.#lastTime = Math.max(this.#lastTime, timeOf(this.newest));
    return true;
  }

  #write(happened: readonly Happened[], beside: Beside = {}): Promise<void> {
    if (happened.length === 0 && beside.mark == null) return Promise.resolve();
    const now = this.#options.clock.now();
    const written = this.#writing.then(() => this.#writeDown(happened, now, beside));
    this.#writing = written.catch((error: unknown) => this.#notWritten(error, happened.length));
    return written;
  }

  #notWritten(error: unknown, events: number): void {
    this.#options.log.warn({ err: error, events }, 'events could not be written down');
  }

  /**
   * Writes events behind all that there are, whoever wrote those: who has read up to one would never learn of another that
   * came later with an id before it.
   */
  async #writeDown(happened: readonly Happened[], now: number, { mark = null, noted }: Beside): Promise<void> {
    const { records, random } = this.#options;
    const time = new Date(now).toISOString();
    for (;;) {
      // Another gateway goes on from the mark that is noted.
      if (mark !== null && !this.isHolder()) return;
      if (noted !== undefined && (records.of(noted.kind).get(noted.id) ?? null) !== noted.expected) return;
      const expected = records.of('events').get(LAST) ?? null;
      const puts = happened.map(({ type, data }): RecordChange & { readonly body: string } => {
        this.#lastTime = Math.max(now, this.#lastTime + 1);
        const id = idOf(this.#lastTime, random.bytes(4).toString('hex'));
        return { kind: 'events', id, body: encodeJson({ id, time, type, data }) };
      });
      const last = puts.at(-1);
      const changes: readonly RecordChange[] = [
        ...puts,
        ...(last === undefined ? [] : [{ kind: 'events', id: LAST, body: JSON.stringify(last.id), expected } as const]),
        ...(mark === null ? [] : [{ kind: 'events', id: OBSERVED, body: JSON.stringify(mark) } as const]),
        ...(noted === undefined ? [] : [noted]),
        ...this.#tooOld(puts),
      ];
      if (await records.change(changes)) return;
    }
  }

  /** The removal of what need not stay beside new events. */
  #tooOld(puts: readonly { readonly body: string }[]): readonly RecordChange[] {
    const { records, clock } = this.#options;
    const since = idOf(Math.max(0, clock.now() - KEPT), '');
    const kept = records.of('events');
    let characters = puts.reduce((sum, { body }) => sum + body.length, 0);
    for (const id of this.#ids) characters += kept.get(id)?.length ?? 0;
    let count = this.#ids.length + puts.length;
    const going: RecordChange[] = [];
    for (const id of this.#ids) {
      if (id >= since && count <= MOST_EVENTS && characters <= MOST_CHARACTERS) break;
      going.push({ kind: 'events', id, body: null });
      count -= 1;
      characters -= kept.get(id)?.length ?? 0;
    }
    return going;
  }

  /** Makes events of what changed since the last time; `isDue` where the mark of the state is to be noted although that is nothing. */
  #gather(isDue = false): void {
    this.#gathering = null;
    const { backend, records } = this.#options;
    const { keys, past } = backend;
    if (this.#isCatchingUp) return;
    const noted = records.of('events').get(OBSERVED);
    if (past !== null && noted !== undefined && this.#isBehind && this.isHolder()) {
      void this.#catchUp(past, noted);
      return;
    }
    const notes = isDue || (past !== null && noted === undefined);
    const changes = this.#stop === null ? [] : keys.changes.changesSince(this.#seen);
    if (this.#stop !== null) this.#seen = keys.changes.version;
    const configuration = this.#configured.splice(0);
    if (!this.isHolder()) {
      this.#isBehind = past !== null;
      return;
    }
    const events = [...configuration, ...(this.#areLost ? [WHOLE] : this.#ofChanges(changes))];
    this.#isBehind = false;
    this.#areLost = false;
    const isLast = past === null && this.#isClosed && this.#stop !== null;
    if (events.length === 0 && !notes && !isLast) return;
    const mark = isLast ? markOf(keys, backend.settings()) : (past?.mark() ?? null);
    this.#write(events, { mark }).catch(() => (past === null ? this.#lose() : this.#fallBehind(LOOK)));
  }

  /** Tells of the keys as a whole the next time. */
  #lose(): void {
    this.#areLost = true;
    this.#gatherSoon(LOOK);
  }

  #ofChanges(changes: MissedChanges['keys']): readonly Happened[] {
    if (changes === null) return [WHOLE];
    const kinds = new Map<KeyChange, Set<string>>();
    for (const [accessKey, change] of changes) {
      // A key that is new is not changed besides.
      if (change === 'changed' && kinds.get('created')?.has(accessKey) === true) continue;
      const those = kinds.get(change) ?? new Set();
      kinds.set(change, those.add(accessKey));
    }
    return [...kinds].flatMap(([change, accessKeys]) => this.ofKeys(TYPES[change], accessKeys));
  }

  /** Goes by the noted mark of the state the next time, since what this gateway has seen is not all that must be told. */
  #fallBehind(pause = GATHERED): void {
    if (this.#options.backend.past === null) return;
    this.#isBehind = true;
    this.#gatherSoon(pause);
  }

  /** Makes events of all that changed since the noted mark, whoever should have: some may be told twice, none is missed. */
  async #catchUp(past: PastChanges, noted: string): Promise<void> {
    this.#isCatchingUp = true;
    let isDone = false;
    try {
      const { version } = this.#options.backend.keys.changes;
      const told = this.#configured.length;
      const mark = past.mark();
      // This class wrote it.
      const missed = await past.since(JSON.parse(noted) as string);
      const events = missed === null ? [...this.#configured.slice(0, told), WHOLE] : await this.#ofMissed(missed);
      await this.#write(events, { mark });
      this.#seen = version;
      this.#configured.splice(0, told);
      isDone = this.isHolder();
    } catch (error) {
      this.#notWritten(error, 0);
    }
    this.#isCatchingUp = false;
    this.#isBehind = !isDone;
    this.#gatherSoon(isDone ? GATHERED : LOOK);
  }

  async #ofMissed({ keys, settings }: MissedChanges): Promise<readonly Happened[]> {
    const isTold = await this.#toldOver(keys ?? []);
    const missed = keys?.filter(([accessKey, change]) => change !== 'over_limit' || !isTold.has(accessKey)) ?? null;
    return [...(settings === null ? [] : [configured(settings)]), ...this.#ofChanges(missed)];
  }

  /** Finds, of keys that are over their limit, those of which the last event says so. */
  async #toldOver(changes: NonNullable<MissedChanges['keys']>): Promise<ReadonlySet<string>> {
    const sought = new Set(changes.flatMap(([accessKey, change]) => (change === 'over_limit' ? [accessKey] : [])));
    const told = new Set<string>();
    const ids = this.#ids;
    for (let at = ids.length - 1; at >= 0 && sought.size > 0; at -= 1) {
      if (at % AT_ONCE === 0) await setImmediate();
      for (const { type, data } of this.#event(ids[at] ?? '')) {
        for (const { access_key: accessKey } of Array.isArray(data.keys) ? (data.keys as readonly EventKey[]) : [])
          if (sought.delete(accessKey) && type === 'key.over_limit') told.add(accessKey);
      }
    }
    return told;
  }

  #look(server: EventServer): void {
    const again = () => {
      this.#looking = setTimeout(() => this.#look(server), LOOK).unref();
    };
    if (this.#options.isFollowing === true) void this.#lastKnown(2 * LOOK);
    server.isAway().then((isAway) => {
      const version = server.version();
      if (this.isHolder()) {
        if (isAway !== this.#isAway) void this.emit(isAway ? 'server.away' : 'server.back', {}).catch(() => undefined);
        if (version !== null && this.#version !== null && version !== this.#version)
          void this.emit('server.updated', { from: this.#version, to: version }).catch(() => undefined);
      }
      this.#isAway = isAway;
      this.#version = version ?? this.#version;
      again();
    }, again);
  }
}

/** Said where too much has changed to be told one by one. */
const WHOLE: Happened = { type: 'key.changed', data: { keys: [], whole: true } };

const configured = (reason: ChangeReason): Happened => ({ type: 'configuration.changed', data: { reason } });

const idOf = (time: number, mark: string): string => `${String(time).padStart(TIME_DIGITS, '0')}-${mark}`;

const timeOf = (id: string): number => Number(id.slice(0, TIME_DIGITS));

function inParts(keys: readonly EventKey[]): readonly (readonly EventKey[])[] {
  const parts: (readonly EventKey[])[] = [];
  for (let from = 0; from < keys.length; from += MOST_KEYS) parts.push(keys.slice(from, from + MOST_KEYS));
  return parts;
}
