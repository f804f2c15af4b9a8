import type { TSchema } from 'typebox';
import type { Preset } from '../../core/principal.js';
import type { FailureName } from '../errors.js';
import type { Access, Capability, Revision } from '../traits/revision.js';

/**
 * The body of a request: ignored, JSON that a schema describes, or the bytes of a whole configuration. The schema is
 * one object per revision, however often it is requested.
 */
export type RequestBody =
  | { readonly kind: 'none' | 'wholeConfig' }
  | { readonly kind: 'json'; readonly schema: (revision: Revision) => TSchema };

/** The subject that an operation reads or changes. `other`: something that no other operation shows or puts back. */
export type Subject = 'keys' | 'configuration' | 'rules' | 'dns' | 'audit' | 'session' | 'other';

/**
 * The effect of an operation on a live server: `reads` leaves everything as it is, `writes` can be undone by removing
 * what was made, `destroys` replaces what was there. `does` describes it for users.
 */
export type Effect =
  | { readonly kind: 'reads' }
  | { readonly kind: 'writes'; readonly does: string }
  | { readonly kind: 'destroys'; readonly does: string };

/** One row of the protocol's tables of endpoints, with everything that is said about the operation anywhere. */
export interface OperationRow {
  /** Method, and path relative to the API root; `{key}` is the access key, percent-encoded. */
  readonly endpoint: `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`;
  readonly access: Access | ((revision: Revision) => Access);
  /** The presets of named tokens that allow it, in addition to `all`. */
  readonly presets: readonly Preset[];
  /** Null for an operation of every revision. */
  readonly capability: Capability | null;
  readonly body: RequestBody;
  /** The schemas of the query's parameters, all of them optional; absent for none. */
  readonly query?: Readonly<Record<string, TSchema>>;
  /** In bytes; by default 1 MiB. */
  readonly bodyLimit?: number;
  /** The schema of `data` on success. */
  readonly answer: (revision: Revision) => TSchema;
  /** The schemas of the envelope's members other than `data`; absent for none. */
  readonly beside?: (revision: Revision) => Readonly<Record<string, TSchema>>;
  /** True if a read gets an entity tag from Keyway, and a change applies only to settings that `If-Match` names. */
  readonly hasTag?: true;
  readonly subject: Subject;
  readonly effect: Effect;
  /** Its own rows of the error table; those of any access check and of any body come in addition. */
  readonly failures: readonly FailureName[];
  readonly summary: string;
  readonly description: string;
}

/** The most bytes that a caller without a credential may send (design: "An audit entry", "Login guessing"). */
export const STRANGER_BODY_LIMIT = 4 * 1024;

export type OperationRows = Readonly<Record<string, OperationRow>>;

/** For operations that show credentials or change more than keys, and for those that require no credential. */
export const ALL_ALONE: readonly Preset[] = [];

export const NO_BODY: RequestBody = { kind: 'none' };

/** Describes a body with the same schema in every revision. */
export const json = (schema: TSchema): RequestBody => ({ kind: 'json', schema: () => schema });

export const READS: Effect = { kind: 'reads' };
export const writes = (does: string): Effect => ({ kind: 'writes', does });
export const destroys = (does: string): Effect => ({ kind: 'destroys', does });

/** The effect of a request about which nothing is known. */
export const MAY_CHANGE: Effect = writes('sends a request that may change something');
