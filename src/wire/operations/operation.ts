import type { TSchema } from 'typebox';
import type { Preset } from '../../core/principal.js';
import type { FailureName } from '../errors.js';
import type { Access, Capability, Revision } from '../traits/revision.js';

/**
 * The body of a request: nothing that is looked at, JSON that a schema describes, or the bytes of a whole
 * configuration. The schema is one object per revision, however often it is asked for.
 */
export type RequestBody =
  | { readonly kind: 'none' | 'wholeConfig' }
  | { readonly kind: 'json'; readonly schema: (revision: Revision) => TSchema };

/** The subject that an operation reads or changes. `other`: something that no other operation shows or puts back. */
export type Subject = 'keys' | 'configuration' | 'rules' | 'dns' | 'audit' | 'session' | 'other';

/**
 * The effect of an operation on a server, for those who ask a live one: `reads` leaves everything as it is, `writes`
 * can be undone by removing what was made, `destroys` replaces what was there. `does` says so to people.
 */
export type Effect =
  | { readonly kind: 'reads' }
  | { readonly kind: 'writes'; readonly does: string }
  | { readonly kind: 'destroys'; readonly does: string };

/** One row of the protocol's tables of endpoints, and all that is said of the operation anywhere. */
export interface OperationRow {
  /** Method, and path relative to the API root; `{key}` is the access key, percent-encoded. */
  readonly endpoint: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`;
  readonly access: Access | ((revision: Revision) => Access);
  /** The presets of named tokens that allow it besides `all`. */
  readonly presets: readonly Preset[];
  /** Null is served by every revision. */
  readonly capability: Capability | null;
  readonly body: RequestBody;
  /** The schemas of the query's parameters, each of which may be left out; nothing when left out. */
  readonly query?: Readonly<Record<string, TSchema>>;
  /** Bytes; 1 MiB when left out. */
  readonly bodyLimit?: number;
  /** The schema of `data` on success. */
  readonly answer: (revision: Revision) => TSchema;
  /** The schemas of what stands beside `data` in the envelope; nothing when left out. */
  readonly beside?: (revision: Revision) => Readonly<Record<string, TSchema>>;
  /** Keyway gives the settings that it reads an entity tag, or changes only those that `If-Match` names. */
  readonly hasTag?: true;
  readonly subject: Subject;
  readonly effect: Effect;
  /** Rows of the error table that are its own, in their words; beside them those of any access check and of any body. */
  readonly failures: readonly FailureName[];
  readonly summary: string;
  readonly description: string;
}

/** The most bytes that anyone may send (design: "An audit entry", "Login guessing"). */
export const STRANGER_BODY_LIMIT = 4 * 1024;

export type OperationRows = Readonly<Record<string, OperationRow>>;

/** For what holds credentials or changes more than keys, and for what asks for no credential. */
export const ALL_ALONE: readonly Preset[] = [];

export const NO_BODY: RequestBody = { kind: 'none' };

/** A body of the same schema in every revision. */
export const json = (schema: TSchema): RequestBody => ({ kind: 'json', schema: () => schema });

export const READS: Effect = { kind: 'reads' };
export const writes = (does: string): Effect => ({ kind: 'writes', does });
export const destroys = (does: string): Effect => ({ kind: 'destroys', does });

/** The effect of a request of which nothing is known. */
export const MAY_CHANGE: Effect = writes('sends a request that may change something');
