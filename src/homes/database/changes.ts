import type { RecordChange } from '../../core/kept-records.js';
import type { AuditEntry } from '../../core/model.js';
import { type Row, StatementError } from './connection.js';
import { STANDBY_PROBLEM, schemaProblem } from './schema.js';
import type { FollowedSession } from './shared.js';
import { MOST_CHANGED, type Seen } from './statements.js';

/** The numbers of the database's heads, and its gateways. */
export interface Heads {
  /** The last write and batch of the database; `connections` is the last batch. */
  readonly seen: Seen;
  /** Every gateway that is not forgotten, by id. */
  readonly gateways: ReadonlyMap<string, Gateway>;
}

export interface Gateway {
  readonly isHeardOf: boolean;
  /** Changes when the gateway was forgotten in between. */
  readonly since: string;
}

export interface Changes {
  readonly heads: Heads;
  /** True if the database's past contains what was seen. */
  readonly isKnown: boolean;
  /** True if more keys have changed than are read one by one. */
  readonly areTooMany: boolean;
  readonly keys: readonly Row[];
  readonly settings: readonly Row[];
  readonly sessions: readonly Row[];
  readonly audit: readonly Row[];
  readonly records: readonly Row[];
  readonly counters: readonly Row[];
  readonly connected: readonly Row[];
}

export function readChanges(answers: readonly (readonly Row[])[]): Changes {
  const [, , heads, known, ...rows] = answers;
  const [keys = [], settings = [], sessions = [], audit = [], records = [], counters = [], connected = []] = rows;
  const [areThere, changed] = known?.[0] ?? [];
  return {
    heads: readHeads(heads),
    isKnown: areThere === 't',
    areTooMany: Number(changed) > MOST_CHANGED,
    keys,
    settings,
    sessions,
    audit,
    records,
    counters,
    connected,
  };
}

/** The database answers, but this Keyway must not use it. */
export class UnfitDatabase extends StatementError {
  constructor(message: string) {
    super('refused', message);
  }
}

/** Reads the heads. Rejects a standby, whose state is behind and which takes no writes, and another Keyway's schema. */
export function readHeads(rows: readonly Row[] | undefined): Heads {
  const [state, stateMark, counters, countersMark, isStandby, schema, gateways, document] = rows?.[0] ?? [];
  if (state == null || stateMark == null || counters == null || countersMark == null || schema == null)
    throw new UnfitDatabase('the database holds no state of a Keyway');
  if (isStandby === 't') throw new UnfitDatabase(STANDBY_PROBLEM);
  const [version = 0, servesFrom = 0] = schema.split(' ').map(Number);
  const problem = schemaProblem(version, servesFrom);
  if (problem !== null) throw new UnfitDatabase(problem);
  const heard = (gateways ?? '').split(',').flatMap((told): [string, Gateway][] => {
    const [id = '', isHeardOf, since = ''] = told.split(' ');
    return id === '' ? [] : [[id, { isHeardOf: isHeardOf === 'true', since }]];
  });
  return {
    seen: {
      ...{ state: BigInt(state), stateMark, counters: BigInt(counters), countersMark },
      ...{ connections: BigInt(counters), connectionsMark: countersMark, document: BigInt(document ?? 0) },
    },
    gateways: new Map(heard),
  };
}

export function readSession([api, digest = null, number]: Row): FollowedSession {
  return { api: api ?? '', digest, number: BigInt(number ?? 0) };
}

/** Reads a record; its kind is one of those that a Keyway has written. */
export function readRecord([kind, id, body = null]: Row): RecordChange {
  return { kind: kind as RecordChange['kind'], id: id ?? '', body };
}

export function readAuditRow([id, time, eventEn, eventRu, success]: Row): AuditEntry {
  return { id: id ?? '', time: time ?? '', eventEn: eventEn ?? '', eventRu: eventRu ?? '', success: success === 't' };
}
