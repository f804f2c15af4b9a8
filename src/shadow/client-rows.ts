/** A client's requests of one operation. */
export interface ClientRow {
  readonly client: string;
  readonly operation: string;
  seen: number;
  equal: number;
  /** Differing in nothing but what the lines, or the register, explain. */
  expected: number;
  different: number;
  /** Requests that were not compared, by reason. */
  readonly leftOut: Record<string, number>;
}

export const MOST_CLIENTS = 200;
const OTHERS = 'others';

/** Counts requests by client and operation. Of more than 200 clients, those with the fewest requests count as one. */
export class ClientRows {
  /** By client and operation. */
  readonly #rows = new Map<string, Map<string, ClientRow>>();

  /** Returns the rows, those that differ most and those of most requests first. */
  sorted(): readonly ClientRow[] {
    const rows = [...this.#rows.values()].flatMap((ofClient) => [...ofClient.values()]);
    return rows.sort((a, b) => b.different - a.different || b.seen - a.seen);
  }

  /** Returns the row of a client's operation, which is to be counted in at once. */
  row(client: string, operation: string): ClientRow {
    const known = this.#rows.get(client);
    const named = this.#rows.size - (this.#rows.has(OTHERS) ? 1 : 0);
    if (known === undefined && client !== OTHERS && named >= MOST_CLIENTS) this.#makeRoom();
    const ofClient = known ?? new Map<string, ClientRow>();
    this.#rows.set(client, ofClient);
    const row = ofClient.get(operation) ?? emptyRow(client, operation);
    ofClient.set(operation, row);
    return row;
  }

  /** Counts the client with the fewest requests, of such the one that came first, among the others. */
  #makeRoom(): void {
    let [fewest, least] = ['', Number.POSITIVE_INFINITY];
    for (const [client, rows] of this.#rows) {
      let seen = 0;
      for (const row of rows.values()) seen += row.seen;
      if (client !== OTHERS && seen < least) [fewest, least] = [client, seen];
    }
    const rows = this.#rows.get(fewest)?.values() ?? [];
    this.#rows.delete(fewest);
    for (const row of rows) this.add({ ...row, client: OTHERS });
  }

  /** Adds the counts of a row. */
  add({ client, operation, seen, equal, expected, different, leftOut }: ClientRow): void {
    const row = this.row(client, operation);
    row.seen += seen;
    row.equal += equal;
    row.expected += expected;
    row.different += different;
    for (const [why, times] of Object.entries(leftOut)) row.leftOut[why] = (row.leftOut[why] ?? 0) + times;
  }

  /** Counts a request that was not compared. */
  leaveOut(client: string, operation: string, why: string): void {
    this.add({ ...emptyRow(client, operation), seen: 1, leftOut: { [why]: 1 } });
  }
}

function emptyRow(client: string, operation: string): ClientRow {
  return { client, operation, seen: 0, equal: 0, expected: 0, different: 0, leftOut: {} };
}
