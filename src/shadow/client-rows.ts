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

const MOST_CLIENTS = 200;
const OTHERS = 'others';

/** Counts requests by client and operation; clients beyond the first 200 count as one. */
export class ClientRows {
  readonly #rows = new Map<string, ClientRow>();
  readonly #clients = new Set<string>();

  /** Returns the rows, those that differ most and those of most requests first. */
  sorted(): readonly ClientRow[] {
    return [...this.#rows.values()].sort((a, b) => b.different - a.different || b.seen - a.seen);
  }

  row(wanted: string, operation: string): ClientRow {
    const client = this.#clients.has(wanted) || this.#clients.size < MOST_CLIENTS ? wanted : OTHERS;
    this.#clients.add(client);
    const name = `${client} ${operation}`;
    const row = this.#rows.get(name) ?? emptyRow(client, operation);
    this.#rows.set(name, row);
    return row;
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
