import type { TSchema } from 'typebox';
import type { Preset } from '../core/principal.js';
import type { Effect } from '../wire/operations/operation.js';
import type { OwnErrorCode } from './errors.js';

export type OwnMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** One call of Keyway's own interface, with everything that code and documents say about it. */
export interface OwnRow {
  /** Method, and path relative to `{base}/keyway/v1`; a part in braces is percent-encoded. */
  readonly endpoint: `${OwnMethod} /${string}`;
  /** The presets that allow it besides `all`. */
  readonly access: readonly Preset[];
  readonly effect: Effect;
  /** The members of the query by name; others are refused. */
  readonly query?: Readonly<Record<string, QueryMember>>;
  /** Request headers that the call reads besides `Authorization`, for the OpenAPI document. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent for a call without a body. Any JSON content type is taken, unless it names its own. */
  readonly body?: OwnBody;
  /** Bytes; 1 MiB when left out. */
  readonly bodyLimit?: number;
  /** The schema of `data` on success. */
  readonly answer: TSchema;
  /** The statuses of a success; 200 alone when left out. */
  readonly statuses?: readonly number[];
  /** The call's own failures, in addition to those of access, query and body. */
  readonly failures: readonly OwnErrorCode[];
  readonly summary: string;
  readonly description: string;
}

export interface OwnBody {
  readonly schema: TSchema;
  /** The same for the OpenAPI document, where its handler looks closer. */
  readonly described?: TSchema;
  readonly types?: readonly string[];
  /** The handler reads its bytes by itself: it is given a `RawBody`. */
  readonly isRaw?: boolean;
}

/** A body as it was sent. */
export interface RawBody {
  /** The content type without parameters. */
  readonly type: string;
  readonly bytes: Buffer;
}

export type OwnRows = Readonly<Record<string, OwnRow>>;

/** A member of a query: a whole number within bounds, or a text. */
export type QueryMember = { readonly description: string } & (
  | { readonly kind: 'number'; readonly least: number; readonly most: number }
  | { readonly kind: 'text' }
);

/** The values of a query: those that are given. */
export type QueryValues = Readonly<Record<string, number | string | undefined>>;

/** The bounds of a list that can be long. */
export const PAGE = {
  limit: { kind: 'number', least: 1, most: 10_000, description: 'At most so many; default 1000.' },
  after: { kind: 'text', description: 'Goes on behind this one, which is the last of the page before.' },
} as const satisfies Readonly<Record<string, QueryMember>>;

/** Elements of a page where nobody says a number. */
export const DEFAULT_LIMIT = 1000;
