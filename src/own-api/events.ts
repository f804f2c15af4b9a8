import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Actors, type Changed, SETTINGS } from '../core/actors.js';
import type { Backend, BackendSettings, ChangeReason, MissedChanges, PastChanges } from '../core/backend.js';
import type { KeptRecords, RecordChange } from '../core/kept-records.js';
import type { KeyChange } from '../core/keys/change-log.js';
import type { KeyFieldValues } from '../core/keys/key-fields.js';
import { keyFields } from '../core/keys/key-record.js';
import { Lease } from '../core/lease.js';
import type { ClockPort, LogPort, RandomPort } from '../core/ports.js';
import { parseJson } from '../wire/json/json.js';
import { encodeJson } from '../wire/json/write-json.js';
import type { RotatedKey } from './rotations.js';
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

/** A member of a key that has become another one; a note is named without its text. */
export type MemberChange =
  | { readonly member: string; readonly from: string | bigint | null; readonly to: string | bigint | null }
  | { readonly member: 'note' };

/** A key that an event tells of, as it was then; `changes` is absent where they are not known. */
export type EventKey = {
  readonly access_key: string;
  readonly name: string | null;
  readonly changes?: readonly MemberChange[];
};

/** Texts and numbers that say more of an event, and `keys`, those that it tells of. */
export type EventData = Readonly<Record<string, string | number | bigint | boolean | null | readonly EventKey[]>>;

/** Something that happened. */
export interface OwnEvent {
  readonly id: string;
  /** RFC 3339, in UTC. */
  readonly time: string;
  readonly type: EventType;
  readonly data: EventData;
}

/** The upstream, as events describe it. */
export interface EventServer {
  isAway(): Promise<boolean>;
  /** Null while it is not known. */
  version(): string | null;
}

type Happened = Pick<OwnEvent, 'type' | 'data'>;

/** Changes that are written in one step with events. */
interface WrittenAlong {
  /** The mark of the state up to which these and those before are all that has changed. */
  readonly mark?: string | StateMark | null;
  /** A record that changes with them; if it is not as expected, they have been written already. */
  readonly noted?: RecordChange;
  /** Records of actors that these events have told. */
  readonly told?: readonly string[];
}

export interface EventsOptions {
  readonly backend: Pick<Backend, 'keys' | 'settings' | 'onChange' | 'replica' | 'past'>;
  readonly records: KeptRecords;
  /** Null where no server stands behind Keyway. */
  readonly server: EventServer | null;
  readonly actors: Pick<Actors, 'of' | 'forget'>;
  /** The rotations that batches make just now, which are told at their ends. */
  readonly rotating: () => readonly RotatedKey[];
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
/**
 * Keys of one event, and characters of what is told of the keys to which something happens at once: more would push out
 * all that was kept.
 */
const MOST_KEYS = 1_000;
const MOST_TOLD = MOST_CHARACTERS / 8;
/** Milliseconds for which a rotation that was told explains keys that come and go. */
const ROTATED = 10_000;
/** Milliseconds between two looks at the server. */
const LOOK = 5_000;
/** Digits of the time in an id, which ids are in the order of. */
const TIME_DIGITS = 15;
/** The record of the id of the last event, by which gateways write one behind the other. */
const LAST = 'last';
/**
 * The record of the mark of the state up to which all changes are events: noted with events where gateways share it,
 * elsewhere at start and end.
 */
const OBSERVED = 'observed';
/**
 * The beginning of records by which a gateway that does not write events tells who changed what, before the one that
 * does gathers them; each by what was changed, the settings under an empty key.
 */
const ACTORS = 'by/';
const MOST_ACTORS = 1_000;
/**
 * Milliseconds after which that mark is noted although nothing happened: what changed long before it may be forgotten.
 */
const NOTED = 600_000;
/** Events that are looked through in one go. */
const AT_ONCE = 200;
const EVENT_ID = /^\d{15}-[0-9a-f]{8}$/;

/** The events of changes; that of a key whose maker is known is not among them. */
const TYPES: Readonly<Record<KeyChange, EventType | null>> = {
  created: 'key.created',
  changed: 'key.changed',
  noted: 'key.changed',
  owned: null,
  removed: 'key.removed',
  reset: 'key.reset',
  over_limit: 'key.over_limit',
};

/**
 * The order of what happened to keys within a second, by whether it still holds: who follows it has each key as it is
 * in the end.
 */
const ORDER: readonly (readonly [type: EventType, holds: boolean])[] = [
  ['key.removed', false],
  ['key.created', true],
  ['key.over_limit', false],
  ['key.changed', true],
  ['key.reset', true],
  ['key.over_limit', true],
  ['key.removed', true],
];

/** Keeps what happens to the state for a week. Of several gateways over one state, one at a time records it. */
export class Events {
  readonly #options: EventsOptions;
  readonly #lease: Lease;
  readonly #listeners = new Set<() => void>();
  /** Ids of the kept events, oldest first. */
  #ids: string[] = [];
  /** The characters of each, and of all. */
  readonly #lengths = new Map<string, number>();
  #characters = 0;
  /** Records of actors that are not told yet. */
  readonly #actors = new Map<string, Readonly<Record<string, string>>>();
  /** Parts of rotations that no event tells, each once: the same again is somebody's change. */
  #dropped: ReadonlySet<string> = new Set();
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
    this.#takeActors([...records.of('events').keys()]);
    records.onChange('events', (ids) => {
      this.#takeActors(ids);
      if (!this.#take(ids)) return;
      for (const listener of [...this.#listeners]) listener();
    });
  }

  /** True while this gateway is the one that observes the state and delivers. */
  isHolder(): boolean {
    return this.#lease.isHeld();
  }

  /** Observes the state from now on. Where it may not hold the lease, another gateway records what happens. */
  start({ mayHold } = { mayHold: true }): void {
    const { backend, server } = this.#options;
    if (mayHold) this.#lease.start();
    this.#settings = backend.settings();
    void this.#observeKeys();
    backend.onChange((reason) => {
      const settings = backend.settings();
      const isChanged = !isDeepStrictEqual(settings, this.#settings) || reason === 'replaced' || reason === 'restored';
      this.#settings = settings;
      if (!isChanged) return;
      this.#configured.push(configured(reason, this.#options.actors.of(SETTINGS)));
      this.#gatherSoon();
    });
    if (backend.past !== null) this.#noting = setInterval(() => this.#gather(true), NOTED).unref();
    if (server !== null) this.#look(server);
  }

  /** Waits until the keys are known, so that those of a server which was away at the start do not count as created. */
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

  /**
   * Tells of what changed while nobody observed a state that this gateway has alone: before a crash, or while Keyway
   * was stopped.
   */
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

  #gatherSoon(pause = this.isHolder() ? GATHERED : GATHERED / 4): void {
    if (!this.#isClosed) this.#gathering ??= setTimeout(() => this.#gather(), pause).unref();
  }

  /**
   * Resolves to whether the keys are known, after following them. A failed list is reported to those who ask for it.
   */
  async #lastKnown(milliseconds = 0): Promise<boolean> {
    try {
      await this.#options.backend.replica?.lastKnown(milliseconds);
      return true;
    } catch {
      return false;
    }
  }

  /** Writes the gathered events, and stops observing. */
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

  /** Records rotations; does nothing without any. Resolves as `emit` does. */
  emitRotated(rotated: readonly RotatedKey[]): Promise<void> {
    return this.#write(this.ofRotated(rotated, this.#options.actors.of(rotated[0]?.accessKey ?? '')));
  }

  /** Records what happened and changes a record, both or neither: neither if the record is not as expected. */
  emitOnce(happened: readonly Happened[], noted: RecordChange): Promise<void> {
    return this.#write(happened, { noted });
  }

  /** Returns the events of rotations by one caller. */
  ofRotated(rotated: readonly RotatedKey[], by: string | null): readonly Happened[] {
    const { keys } = this.#options.backend;
    const told = rotated.map(({ accessKey: from, successor: to }): EventKey => {
      return { access_key: to, name: keys.get(to)?.name ?? null, changes: [{ member: 'access_key', from, to }] };
    });
    return ofKeys('key.rotated', told, by);
  }

  /** Calls back after new events. Returns the function that ends this. */
  readonly onChange = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  };

  /** Returns the id of the newest event; without events, one before all ids. */
  get newest(): string {
    return this.#ids.at(-1) ?? idOf(0, '00000000');
  }

  /** Returns the events after an id, oldest first; null if some of them are no longer kept, or it is not an id. */
  after(id: string, limit: number): readonly OwnEvent[] | null {
    if (!EVENT_ID.test(id) || id > this.newest) return null;
    const [oldest] = this.#ids;
    if (oldest !== undefined && id < oldest && timeOf(id) !== 0) return null;
    const from = this.#ids.findIndex((each) => each > id);
    return from === -1 ? [] : this.#ids.slice(from, from + limit).flatMap((each) => this.#event(each));
  }

  /**
   * Has the event of an id looked for where it is not known here: another gateway may have written it. Rejects with
   * `backendAway`.
   */
  async lookFor(id: string): Promise<void> {
    if (EVENT_ID.test(id) && this.after(id, 1) === null) await this.#options.records.lookUp?.();
  }

  /** The newest events, oldest first. */
  latest(limit: number): readonly OwnEvent[] {
    return this.#ids.slice(-limit).flatMap((id) => this.#event(id));
  }

  #event(id: string): readonly OwnEvent[] {
    const body = this.#options.records.of('events').get(id);
    return body === undefined ? [] : [readEvent(body)];
  }

  /** Takes in changed records; returns false if none of them is an event. */
  #take(ids: readonly string[]): boolean {
    const records = this.#options.records.of('events');
    const changed = new Set(ids.filter((id) => EVENT_ID.test(id)));
    if (changed.size === 0) return false;
    for (const id of changed) this.#measure(id, records.get(id)?.length ?? 0);
    const coming = [...changed].filter((id) => records.has(id)).sort();
    const staying = this.#ids.filter((id) => !changed.has(id));
    const isLater = (staying.at(-1) ?? '') < (coming[0] ?? '');
    this.#ids = isLater ? [...staying, ...coming] : [...staying, ...coming].sort();
    this.#lastTime = Math.max(this.#lastTime, timeOf(this.newest));
    return true;
  }

  #measure(id: string, length: number): void {
    this.#characters += length - (this.#lengths.get(id) ?? 0);
    if (length === 0) this.#lengths.delete(id);
    else this.#lengths.set(id, length);
  }

  #takeActors(ids: readonly string[]): void {
    for (const id of ids.filter((each) => each.startsWith(ACTORS))) {
      const body = this.#options.records.of('events').get(id);
      if (body === undefined) this.#actors.delete(id);
      // Only this class writes it.
      else this.#actors.set(id, Object.assign(Object.create(null), JSON.parse(body)));
    }
  }

  /** Tells the gateway that writes events who changed here what it will gather. */
  #tellActors(changed: readonly Changed[]): void {
    const { actors, records, random } = this.#options;
    const by = changed.flatMap((each) => {
      const actor = actors.of(each);
      return actor === null ? [] : [[each === SETTINGS ? '' : each, actor] as const];
    });
    // Commands add to them where no gateway serves that would write the events.
    if (by.length === 0 || this.#actors.size >= MOST_ACTORS) return;
    const change = {
      kind: 'events',
      id: ACTORS + random.uuid(),
      body: JSON.stringify(Object.fromEntries(by)),
    } as const;
    // Without it the events name nobody.
    this.#writing = this.#writing.then(() => records.change([change])).catch(() => undefined);
  }

  /** Returns the name of who changed something, here or at another gateway; null where that is not known. */
  #actorOf(changed: Changed): string | null {
    const here = this.#options.actors.of(changed);
    const name = changed === SETTINGS ? '' : changed;
    return here ?? [...this.#actors.values()].findLast((by) => by[name] !== undefined)?.[name] ?? null;
  }

  #write(happened: readonly Happened[], along: WrittenAlong = {}): Promise<void> {
    if (happened.length === 0 && along.mark == null) return Promise.resolve();
    const now = this.#options.clock.now();
    const written = this.#writing.then(() => this.#writeDown(happened, now, along));
    this.#writing = written.catch((error: unknown) => this.#notWritten(error, happened.length));
    return written;
  }

  #notWritten(error: unknown, events: number): void {
    this.#options.log.warn({ err: error, events }, 'events could not be written down');
  }

  /**
   * Appends events after all existing ones, including other gateways': a reader who has seen an event would never learn
   * of a later one with a smaller id.
   */
  async #writeDown(
    happened: readonly Happened[],
    now: number,
    { mark = null, noted, told = [] }: WrittenAlong,
  ): Promise<void> {
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
        ...told.map((id): RecordChange => ({ kind: 'events', id, body: null })),
        ...this.#tooOld(puts),
      ];
      if (await records.change(changes)) return;
    }
  }

  /** Returns the removals that make room for new events. */
  #tooOld(puts: readonly { readonly body: string }[]): readonly RecordChange[] {
    const since = idOf(Math.max(0, this.#options.clock.now() - KEPT), '');
    let characters = puts.reduce((sum, { body }) => sum + body.length, this.#characters);
    let count = this.#ids.length + puts.length;
    const going: RecordChange[] = [];
    for (const id of this.#ids) {
      if (id >= since && count <= MOST_EVENTS && characters <= MOST_CHARACTERS) break;
      going.push({ kind: 'events', id, body: null });
      count -= 1;
      characters -= this.#lengths.get(id) ?? 0;
    }
    return going;
  }

  /**
   * Makes events of what changed since the last time; `isDue` where the mark of the state is to be noted although that
   * is nothing.
   */
  #gather(isDue = false): void {
    this.#gathering = null;
    const { actors, backend, records } = this.#options;
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
    const changed = [...new Set<Changed>((changes ?? []).map(([accessKey]) => accessKey))];
    if (configuration.length > 0) changed.push(SETTINGS);
    if (!this.isHolder()) {
      this.#isBehind = past !== null;
      if (past !== null) this.#tellActors(changed);
      return;
    }
    const told = [...this.#actors.keys()];
    const configured = configuration.map((each) => this.#configuredBy(each));
    const events = [...configured, ...(this.#areLost ? [WHOLE] : this.#ofChanges(changes))];
    // What others change of them later is theirs.
    actors.forget(changed);
    this.#isBehind = false;
    this.#areLost = false;
    const isLast = past === null && this.#isClosed && this.#stop !== null;
    if (events.length === 0 && !notes && !isLast) return;
    const mark = isLast ? markOf(keys, backend.settings()) : (past?.mark() ?? null);
    this.#write(events, { mark, told }).catch(() => (past === null ? this.#lose() : this.#fallBehind(LOOK)));
  }

  /** Tells of the keys as a whole the next time. */
  #lose(): void {
    this.#areLost = true;
    this.#gatherSoon(LOOK);
  }

  #ofChanges(changes: MissedChanges['keys']): readonly Happened[] {
    if (changes === null) return [WHOLE];
    const types = new Map<EventType, Map<string, Gathered>>();
    for (const [accessKey, change, before] of changes) {
      const type = TYPES[change];
      if (type === null) continue;
      const those = types.get(type) ?? new Map<string, Gathered>();
      types.set(type, those);
      const known = those.get(accessKey);
      those.set(accessKey, {
        before: known?.before ?? before,
        isNoted: known?.isNoted === true || change === 'noted',
      });
    }
    this.#dropRotated(types);
    // A new key does not count as changed as well.
    for (const accessKey of types.get('key.created')?.keys() ?? []) types.get('key.changed')?.delete(accessKey);
    return ORDER.flatMap(([type, holds]) => {
      const byActor = new Map<string | null, EventKey[]>();
      for (const [accessKey, each] of types.get(type) ?? []) {
        if (this.#holds(type, accessKey) !== holds) continue;
        // Usage passes a limit, no matter who has set it.
        const by = type === 'key.over_limit' ? null : this.#actorOf(accessKey);
        const those = byActor.get(by) ?? [];
        byActor.set(by, those);
        those.push(this.#told(type, accessKey, each));
      }
      return [...byActor].flatMap(([by, those]) => ofKeys(type, those, by));
    });
  }

  /** Tells whether what an event says of a key is so now: one that was removed may be back. */
  #holds(type: EventType, accessKey: string): boolean {
    const now = this.#options.backend.keys.get(accessKey);
    if (type === 'key.removed') return now === undefined;
    return type !== 'key.over_limit' || now?.overLimit === true;
  }

  /** Names who changed the settings where another gateway has told it since. */
  #configuredBy({ type, data }: Happened): Happened {
    const by = data.by ?? this.#actorOf(SETTINGS);
    return { type, data: by === null ? data : { ...data, by } };
  }

  #told(type: EventType, accessKey: string, { before, isNoted }: Gathered): EventKey {
    const now = this.#options.backend.keys.get(accessKey);
    const told = { access_key: accessKey, name: (now ?? before)?.name ?? null };
    if (type !== 'key.changed' || now === undefined) return told;
    const members = keyFields.flatMap(({ name, member }): readonly MemberChange[] =>
      before === undefined || before[name] === now[name] ? [] : [{ member, from: before[name], to: now[name] }],
    );
    const changes = isNoted ? [...members, { member: 'note' } as const] : members;
    return changes.length === 0 ? told : { ...told, changes };
  }

  /** Drops what a rotation is made of: an event of its own tells of it. */
  #dropRotated(types: ReadonlyMap<EventType, Map<string, Gathered>>): void {
    if (!types.has('key.created') && !types.has('key.removed')) return;
    const { keys } = this.#options.backend;
    const dropped = new Set<string>();
    const drop = (type: EventType, accessKey: string): boolean => {
      const part = `${type} ${accessKey}`;
      const isDropped = !this.#dropped.has(part) && types.get(type)?.delete(accessKey) === true;
      if (isDropped || this.#dropped.has(part)) dropped.add(part);
      return isDropped;
    };
    const changed = types.get('key.changed');
    for (const { accessKey, successor, isTold } of this.#rotations()) {
      const isNew = drop('key.created', successor);
      let before = changed?.get(successor)?.before;
      // What happened to the old key before comes too late where the rotation is told: its change is one of the new key.
      if (drop('key.removed', accessKey) && isTold && keys.get(accessKey) === undefined) {
        before = changed?.get(accessKey)?.before ?? before;
        for (const those of types.values()) those.delete(accessKey);
      }
      if (!isNew) continue;
      // The note and counters that it carried along are no change of the new key.
      if (isOtherRecord(before, keys.get(successor))) changed?.set(successor, { before, isNoted: false });
      else changed?.delete(successor);
    }
    this.#dropped = dropped;
  }

  /** The rotations that are under way, and those that were told just now, by whichever gateway. */
  #rotations(): readonly (RotatedKey & { readonly isTold: boolean })[] {
    const { backend, records, rotating, clock } = this.#options;
    const begun = [...records.of('rotations').values()].map((body): RotatedKey => {
      const { old, successor }: { readonly old: string; readonly successor: string } = JSON.parse(body);
      return { accessKey: old, successor };
    });
    const told: RotatedKey[] = [];
    const since = idOf(Math.max(0, clock.now() - ROTATED), '');
    for (let at = this.#ids.length - 1; at >= 0 && (this.#ids[at] ?? '') >= since; at -= 1) {
      const body = records.of('events').get(this.#ids[at] ?? '');
      if (body?.includes(ROTATION) === true) told.push(...keysIn(readEvent(body).data).flatMap(rotationIn));
    }
    // One of which the new key is not there explains nothing: the old one may have been removed before its turn.
    const made = [...begun, ...rotating()].filter(({ successor }) => backend.keys.get(successor) !== undefined);
    return [
      ...made.map((rotated) => ({ ...rotated, isTold: false })),
      ...told.map((rotated) => ({ ...rotated, isTold: true })),
    ];
  }

  /** Goes by the recorded mark next time, because this gateway has not seen every change. */
  #fallBehind(pause = GATHERED): void {
    if (this.#options.backend.past === null) return;
    this.#isBehind = true;
    this.#gatherSoon(pause);
  }

  /**
   * Makes events of everything that changed since the recorded mark. Another gateway may have done so: some come twice,
   * none is missed.
   */
  async #catchUp(past: PastChanges, noted: string): Promise<void> {
    this.#isCatchingUp = true;
    let isDone = false;
    // What could not be written down comes again, and some of this once more.
    this.#dropped = new Set();
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
    this.#dropped = new Set();
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
        for (const { access_key: accessKey } of keysIn(data))
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

/** The message if too much has changed for one event each. */
const WHOLE: Happened = { type: 'key.changed', data: { keys: [], whole: true } };

/** The first record of a key before it was changed, and whether its note was. */
interface Gathered {
  readonly before: KeyFieldValues | undefined;
  readonly isNoted: boolean;
}

function isOtherRecord(before: KeyFieldValues | undefined, now: KeyFieldValues | undefined): boolean {
  return before !== undefined && now !== undefined && keyFields.some(({ name }) => before[name] !== now[name]);
}

/** A part of each event of rotations; keys and names of others cannot have it, because their quotes are escaped. */
const ROTATION = '"type":"key.rotated"';

/** Reads an event. Only this class writes them. Reading exact numbers takes ten times as long, and only changes have them. */
function readEvent(body: string): OwnEvent {
  return (/"(?:from|to)":\d/.test(body) ? parseJson(Buffer.from(body)) : JSON.parse(body)) as unknown as OwnEvent;
}

/** Returns the events of one kind and caller about keys. */
function ofKeys(type: EventType, told: readonly EventKey[], by: string | null): readonly Happened[] {
  const actor = by === null ? {} : { by };
  if (encodeJson(told).length > MOST_TOLD) return [{ type, data: { ...WHOLE.data, ...actor } }];
  return inParts(told).map((part) => ({ type, data: { keys: part, ...actor } }));
}

const keysIn = ({ keys }: EventData): readonly EventKey[] =>
  // Only this class writes events.
  Array.isArray(keys) ? (keys as readonly EventKey[]) : [];

const rotationIn = ({ access_key: successor, changes = [] }: EventKey): readonly RotatedKey[] =>
  changes.flatMap((change) =>
    'from' in change && change.member === 'access_key' ? [{ accessKey: String(change.from), successor }] : [],
  );

const configured = (reason: ChangeReason, by: string | null = null): Happened => ({
  type: 'configuration.changed',
  data: { reason, ...(by === null ? {} : { by }) },
});

const idOf = (time: number, mark: string): string => `${String(time).padStart(TIME_DIGITS, '0')}-${mark}`;

const timeOf = (id: string): number => Number(id.slice(0, TIME_DIGITS));

function inParts(keys: readonly EventKey[]): readonly (readonly EventKey[])[] {
  const parts: (readonly EventKey[])[] = [];
  for (let from = 0; from < keys.length; from += MOST_KEYS) parts.push(keys.slice(from, from + MOST_KEYS));
  return parts;
}
