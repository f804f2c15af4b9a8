import { CHANGE_KINDS, type ChangeKind } from '../replay/compare/line-changes.js';
import { generalPlace } from '../replay/compare/places.js';
import { valueInWords } from '../replay/format/json-difference.js';
import { Replacements } from '../replay/format/replacements.js';
import { stripJson } from '../replay/format/strip.js';
import type { JsonValue } from '../wire/json/json.js';
import { type OperationName, operationsOf } from '../wire/operations.js';
import type { Revision } from '../wire/traits/revision.js';
import { type ClientRow, ClientRows, MOST_CLIENTS } from './client-rows.js';
import type { ShadowDifference } from './judge.js';

/** The fate of one request of a client. */
export type Outcome =
  | { readonly kind: 'compared'; readonly differences: readonly ShadowDifference[] }
  /** Why the two answers were not held together. */
  | { readonly kind: 'left out'; readonly why: string };

export function leftOut(why: string): Outcome {
  return { kind: 'left out', why };
}

/** One kind of difference, with its first example. */
export interface DifferenceKind {
  readonly operation: string;
  readonly where: string;
  readonly kind: ChangeKind;
  readonly because: string | null;
  readonly explainedBy: ShadowDifference['explainedBy'];
  times: number;
  readonly clients: string[];
  /** The words of target and shadow, without anything secret; as JSON texts. */
  readonly example: { readonly target: string; readonly shadow: string };
}

/** All that a shadow has seen. A JSON value but for nothing: it goes between threads and into a file as it is. */
export interface ShadowReport {
  readonly version: 1;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly writtenAt: string;
  /** Tells whether it is the last one of a run that came to its end. */
  readonly isLast: boolean;
  readonly target: ReportedServer | null;
  readonly shadow: ReportedServer | null;
  readonly requests: number;
  readonly compared: number;
  /** Requests that were seen and still wait to be compared; they count in nothing else. */
  readonly waiting: number;
  readonly rows: readonly ClientRow[];
  readonly differences: readonly DifferenceKind[];
  /** Operations that the target's line serves, by whether any client used them. */
  readonly operations: { readonly seen: readonly string[]; readonly unseen: readonly string[] };
  /** Why nothing is compared any more; null unless comparing ended by a fault. */
  readonly lost: string | null;
  /** Sentences about what happened meanwhile. */
  readonly notes: readonly string[];
}

export interface ReportedServer {
  readonly place: string;
  readonly line: string;
  readonly version: string;
}

const MOST_KINDS = 1_000;
/** The place of kinds beyond these. */
const ELSEWHERE = 'elsewhere';
const MOST_NOTES = 50;

/** Counts what becomes of requests, by client and operation. */
export class Tally {
  readonly #startedAt: string;
  readonly #now: () => number;
  readonly #replacements = new Replacements(false);
  readonly #rows = new ClientRows();
  readonly #kinds = new Map<string, DifferenceKind>();
  /** Places as they are shown; no more than of kinds, for what stands for a name is kept for good. */
  readonly #places = new Map<string, string>();
  readonly #notes: string[] = [];
  #target: ReportedServer | null = null;
  #shadow: ReportedServer | null = null;
  #served: readonly OperationName[] = [];
  #requests = 0;
  #compared = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#startedAt = new Date(now()).toISOString();
  }

  get compared(): number {
    return this.#compared;
  }

  /** Both servers are known, and what the target's clients could use. */
  began(target: ReportedServer, shadow: ReportedServer, line: Revision): void {
    this.#target = target;
    this.#shadow = shadow;
    this.#served = operationsOf(line).map(({ name }) => name);
  }

  note(sentence: string): void {
    if (!this.#notes.includes(sentence) && this.#notes.length < MOST_NOTES) this.#notes.push(sentence);
  }

  /** Returns the kinds of differences that were never seen before. */
  add(client: string, operation: string, outcome: Outcome): readonly DifferenceKind[] {
    this.#requests += 1;
    if (outcome.kind === 'left out') {
      this.#rows.leaveOut(client, operation, outcome.why);
      return [];
    }
    const row = this.#rows.row(client, operation);
    row.seen += 1;
    this.#compared += 1;
    if (outcome.differences.length === 0) row.equal += 1;
    else if (outcome.differences.every(({ because }) => because !== null)) row.expected += 1;
    else row.different += 1;
    return this.#addKinds(row.client, outcome.differences);
  }

  report(): ShadowReport {
    const rows = this.#rows.sorted();
    const used = new Set(rows.map(({ operation }) => operation));
    return {
      version: 1,
      startedAt: this.#startedAt,
      writtenAt: new Date(this.#now()).toISOString(),
      isLast: false,
      target: this.#target,
      shadow: this.#shadow,
      requests: this.#requests,
      compared: this.#compared,
      waiting: 0,
      rows,
      differences: [...this.#kinds.values()].sort(bySeverity),
      operations: {
        seen: this.#served.filter((each) => used.has(each)),
        unseen: this.#served.filter((each) => !used.has(each)),
      },
      lost: null,
      notes: [...this.#notes],
    };
  }

  #addKinds(client: string, differences: readonly ShadowDifference[]): readonly DifferenceKind[] {
    const fresh: DifferenceKind[] = [];
    const named = new Set<string>();
    for (const difference of differences) {
      const shown = this.#shownPlace(difference.where);
      const isNamed = this.#kinds.has(nameOf(difference, shown)) || this.#kinds.size < MOST_KINDS;
      const where = isNamed ? shown : ELSEWHERE;
      const name = nameOf(difference, where);
      if (named.has(name)) continue;
      named.add(name);
      const known = this.#kinds.get(name);
      const kind = known ?? this.#kindOf(difference, where);
      kind.times += 1;
      if (!kind.clients.includes(client) && kind.clients.length < MOST_CLIENTS) kind.clients.push(client);
      if (known !== undefined) continue;
      this.#kinds.set(name, kind);
      fresh.push(kind);
    }
    return fresh;
  }

  #kindOf({ where, expected, actual, ...difference }: ShadowDifference, shown: string): DifferenceKind {
    const { operation, kind, because, explainedBy } = difference;
    const example = { target: this.#shown(expected, where), shadow: this.#shown(actual, where) };
    return { operation, where: shown, kind, because, explainedBy, times: 0, clients: [], example };
  }

  #shownPlace(where: string): string {
    const place = generalPlace(where);
    const known = this.#places.get(place);
    if (known !== undefined || this.#places.size >= MOST_KINDS) return known ?? ELSEWHERE;
    const shown = this.#strippedPlace(place);
    this.#places.set(place, shown);
    return shown;
  }

  /** Names of members may be somebody's too. */
  #strippedPlace(place: string): string {
    const [part = '', pointer] = place.split(' ', 2);
    if (part !== 'body' || pointer === undefined) return `${part}${pointer === undefined ? '' : ` ${pointer}`}`;
    const steps = pointer.split('/').map((step) => (step === '*' || step === '' ? step : this.#shownName(step)));
    return `body ${steps.join('/')}`;
  }

  #shownName(name: string): string {
    const [shown = name] = Object.keys(Object(stripJson({ [name]: true }, this.#replacements)));
    return shown;
  }

  /** The words of places outside of a body are the API's own. */
  #shown(value: JsonValue | undefined, where: string): string {
    if (value === undefined) return valueInWords(value);
    const isPublic =
      where === 'status' || where === 'operation' || where === 'connection' || where.startsWith('header ');
    if (isPublic || typeof value === 'bigint' || typeof value === 'boolean') return valueInWords(value);
    return valueInWords(stripJson(value, this.#replacements, where.split('/').at(-1) ?? ''));
  }
}

function nameOf({ operation, kind, because }: ShadowDifference, where: string): string {
  return `${operation} ${where} ${kind} ${because ?? ''}`;
}

function bySeverity(one: DifferenceKind, other: DifferenceKind): number {
  const rank = ({ because, kind }: DifferenceKind) =>
    (because === null ? 0 : CHANGE_KINDS.length) + CHANGE_KINDS.indexOf(kind);
  return rank(one) - rank(other) || other.times - one.times;
}

/** The kind of program that a user agent names: its first word with the version. */
export function programOf(userAgent: string | undefined): string {
  const [, program] = /^([\w.+-]{1,30}(?:\/[\w.+-]{1,15})?)/.exec(userAgent ?? '') ?? [];
  return program ?? 'unnamed';
}
