import { randomUUID } from 'node:crypto';
import pg, { type QueryArrayConfig } from 'pg';
import { messageOf } from '../../core/errors.js';
import { AbandonedStatements } from './abandoned.js';
import { runningStatements, withId } from './statements.js';

/** How far a failed statement came. */
export type Reached =
  /** It was never sent. */
  | 'not sent'
  /** The database refused it, and undid all of it. */
  | 'refused'
  /** It may have been executed. */
  | 'unknown';

/** A statement failed. The message holds nothing secret. */
export class StatementError extends Error {
  readonly reached: Reached;
  /** SQLSTATE (PostgreSQL documentation, Appendix A), or null if the database did not report one. */
  readonly sqlState: string | null;

  constructor(reached: Reached, message: string, sqlState: string | null = null) {
    super(message);
    this.name = 'StatementError';
    this.reached = reached;
    this.sqlState = sqlState;
  }
}

/** One row: the columns in PostgreSQL's text form, in order. */
export type Row = readonly (string | null)[];

/** A few connections to one database, opened on demand and reopened when they are lost. */
export interface Connections {
  /**
   * Sends statements in one message, so that the database begins with them once it has all of them, and resolves to the
   * rows of each. Several are one transaction, which begins and ends none itself. Rejects with `StatementError`, also
   * if there is no answer within `deadline` milliseconds.
   */
  run(text: string, deadline: number): Promise<readonly (readonly Row[])[]>;
  /** Sends one statement with separate parameters; for long statements that hold no lock that others wait for. */
  send(text: string, values: (Buffer | string | null)[], deadline: number): Promise<readonly Row[]>;
  /** Runs statements one after the other on one connection, which is then returned. */
  session<T>(work: (run: Connections['run'], send: Connections['send']) => Promise<T>): Promise<T>;
  /**
   * Closes present connections after their use and opens new ones, because the host name may resolve to another host by
   * now.
   */
  renew(): void;
  /** Returns the number of abandoned statements that the database may still be running; each occupies a connection. */
  unanswered(): number;
  /** Returns the numbers of open connections, of those in use, and of callers waiting for one. */
  use(): ConnectionsUse;
  close(): Promise<void>;
}

export interface ConnectionsUse {
  readonly open: number;
  readonly busy: number;
  readonly waiting: number;
}

export interface ConnectionsOptions {
  readonly url: string;
  /** The id of the gateway, for the `application_name`; absent for a command. */
  readonly gateway?: string;
  /** The most connections. */
  readonly most: number;
  /** Connections that stay open although they are unused; default 0. */
  readonly kept?: number;
  /**
   * The connection for asking whether the database is still running an abandoned statement. Without it the connection
   * of that statement is closed at once, which suits statements that end by themselves, and processes that do.
   */
  readonly asking?: Pick<Connections, 'run'>;
  /** Milliseconds that connecting may take. */
  readonly connectDeadline?: number;
}

const CONNECT_DEADLINE = 3_000;
const NO_PASSWORD =
  'it asks for a password: give it in KEYWAY_DATABASE_URL, in the settings file or in a password file (PGPASSFILE)';
/** Milliseconds for which an unused connection is kept. */
const IDLE = 60_000;
const ASKING_DEADLINE = 2_000;
const UNANSWERED = 'the database has not answered what it was asked before';

type Statement = Pick<QueryArrayConfig<(Buffer | string | null)[]>, 'text' | 'values'>;

/** Keeps values as the text of the wire, because counts can exceed 2^53. */
const RAW = { getTypeParser: () => (text: string) => text };

export function openConnections(options: ConnectionsOptions): Connections {
  const { url, gateway, most, kept = 0, asking, connectDeadline = CONNECT_DEADLINE } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: most,
    min: kept,
    connectionTimeoutMillis: connectDeadline,
    idleTimeoutMillis: IDLE,
    keepAlive: true,
    application_name: gateway === undefined ? 'keyway' : `keyway ${gateway}`,
  });
  const abandoned = new AbandonedStatements(async (ids) => {
    const [rows = []] = (await asking?.run(runningStatements(ids), ASKING_DEADLINE)) ?? [];
    return new Set(rows.map(([id]) => id ?? ''));
  });
  // The pool replaces a connection that is lost while unused; if it is in use, the statement reports that.
  pool.on('error', () => undefined);
  let present = new WeakSet<pg.PoolClient>();
  pool.on('connect', (client) => {
    present.add(client);
    client.on('error', () => undefined);
  });

  async function take(): Promise<pg.PoolClient> {
    if (abandoned.size >= most) throw new StatementError('not sent', UNANSWERED);
    try {
      for (;;) {
        const client = await pool.connect();
        if (present.has(client)) return client;
        client.release(true);
      }
    } catch (error) {
      throw new StatementError('not sent', wordsOf(error), sqlStateOf(error));
    }
  }

  async function query(
    client: pg.PoolClient,
    config: Statement,
    deadline: number,
  ): Promise<readonly (readonly Row[])[]> {
    let timer: NodeJS.Timeout | undefined;
    const id = randomUUID();
    const answered: Promise<unknown> = client.query({
      ...config,
      text: withId(id, config.text),
      rowMode: 'array',
      types: RAW,
    });
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Unanswered(id, answered, deadline)), deadline);
    });
    try {
      const result: unknown = await Promise.race([answered, late]);
      // There is one result, or one for each statement.
      const results = (Array.isArray(result) ? result : [result]) as readonly { readonly rows: readonly Row[] }[];
      return results.map(({ rows }) => rows);
    } catch (error) {
      throw error instanceof StatementError ? error : failureOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Runs `work` with a connection. `isUsable` tells whether the connection is unharmed after an error. */
  async function using<T>(
    work: (client: pg.PoolClient) => Promise<T>,
    isUsable: (error: unknown) => boolean,
  ): Promise<T> {
    const client = await take();
    try {
      const answer = await work(client);
      client.release(!present.has(client));
      return answer;
    } catch (error) {
      if (error instanceof Unanswered && asking !== undefined && !pool.ending)
        abandoned.keep(error.id, error.answered, () => client.release(true));
      else client.release(!(present.has(client) && isUsable(error)));
      throw error;
    }
  }

  const statementsBy = (one: (config: Statement, deadline: number) => Promise<readonly (readonly Row[])[]>) => ({
    run: (text: string, deadline: number) => one({ text }, deadline),
    send: async (text: string, values: (Buffer | string | null)[], deadline: number) => {
      const [rows = []] = await one({ text, values }, deadline);
      return rows;
    },
  });

  return {
    ...statementsBy((config, deadline) => using((client) => query(client, config, deadline), isRefused)),
    // An error leaves its transaction open.
    session: (work) =>
      using(
        (client) => {
          const { run, send } = statementsBy((config, deadline) => query(client, config, deadline));
          return work(run, send);
        },
        () => false,
      ),
    renew() {
      present = new WeakSet();
      // Idle connections would otherwise stay open until they are next used.
      for (let idle = pool.idleCount; idle > 0; idle -= 1)
        pool.connect().then(
          (client) => client.release(!present.has(client)),
          () => undefined,
        );
    },
    unanswered: () => abandoned.size,
    use: () => ({ open: pool.totalCount, busy: pool.totalCount - pool.idleCount, waiting: pool.waitingCount }),
    close: async () => {
      if (pool.ending) return;
      const ended = pool.end();
      abandoned.freeAll();
      await ended;
    },
  };
}

/** There was no answer in time; `answered` settles once there is one, or the connection is gone. */
class Unanswered extends StatementError {
  readonly id: string;
  readonly answered: Promise<unknown>;

  constructor(id: string, answered: Promise<unknown>, deadline: number) {
    super('unknown', `no answer within ${deadline / 1000} seconds`);
    this.id = id;
    this.answered = answered;
    answered.catch(() => undefined);
  }
}

const isRefused = (error: unknown): boolean => error instanceof StatementError && error.reached === 'refused';

/**
 * Returns `refused` for an error of the database, which undoes the statement, and `unknown` for one that may follow a
 * commit: classes 08 (connection), 57P (shutdown) and XX (internal).
 */
function failureOf(error: unknown): StatementError {
  const sqlState = sqlStateOf(error);
  if (sqlState === null || /^(?:08|57P|XX)/.test(sqlState))
    return new StatementError('unknown', wordsOf(error), sqlState);
  return new StatementError('refused', wordsOf(error), sqlState);
}

function sqlStateOf(error: unknown): string | null {
  return error instanceof pg.DatabaseError ? (error.code ?? null) : null;
}

function wordsOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(wordsOf).join('; ');
  const words = messageOf(error);
  return /password must be a string/.test(words) ? NO_PASSWORD : words;
}
