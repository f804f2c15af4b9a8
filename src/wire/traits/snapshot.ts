import type { KeySnapshot } from '../../core/model.js';

/** A revision's form of a user snapshot (protocol: "User snapshot"). */
export interface SnapshotForm {
  readonly name: string;
  readonly hasName: boolean;
  readonly hasLastSeen: boolean;
  /** The snapshot as JSON text, members in the protocol's order, integers exact. */
  encode(key: KeySnapshot, online: boolean): string;
}

function form(name: string, hasName: boolean, hasLastSeen: boolean): SnapshotForm {
  const lastSeen = hasLastSeen ? ',"last_seen":null' : '';
  return {
    name,
    hasName,
    hasLastSeen,
    encode(key, online) {
      const { counters } = key;
      const limit = counters === null ? key.limitBytes : counters.limitBytes;
      const named = hasName ? `,"name":${key.name === null ? 'null' : JSON.stringify(key.name)}` : '';
      const traffic =
        counters === null
          ? '"bytes_up":0,"bytes_down":0,"connections":0'
          : `"bytes_up":${counters.bytesUp},"bytes_down":${counters.bytesDown},"connections":${counters.connections}`;
      return `{"access_key":${JSON.stringify(key.accessKey)}${named},${traffic},"limit_bytes":${limit},"online":${online}${lastSeen}}`;
    },
  };
}

/** Earliest revision. */
export const snapshotWithoutName = form('no name', false, false);
/** DNS revision. */
export const snapshotWithName = form('name', true, false);
/** Current revision. */
export const snapshotWithNameAndLastSeen = form('name, last_seen', true, true);
