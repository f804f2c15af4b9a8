import pg from 'pg';
import type { ClockPort, LogPort } from '../../core/ports.js';
import { failureWords } from '../../platform/failure-words.js';
import type { Connections } from './connection.js';
import type { Jitter } from './jitter.js';
import { aside, NOTIFY_CHANNEL, notify } from './statements.js';

export type Hints = ReturnType<typeof startHints>;

export interface HintsOptions {
  readonly connections: Pick<Connections, 'run'>;
  /** The URL for the listening connection, which must not go through a pooler. */
  readonly listenUrl: string;
  readonly gateway: string;
  /** Called when another gateway has changed something. */
  readonly onHint: () => void;
  readonly clock: ClockPort;
  readonly jitter: Jitter;
  readonly log: LogPort;
}

/** In milliseconds. */
const GAP = 100;
const DEADLINE = 3_000;
const AGAIN = 2_000;
const UNHEARD = 'no hints of changes are heard; what other gateways change is seen within a second';

/** Exchanges hints about changes between gateways. They may be lost, because followers also look. */
export function startHints(options: HintsOptions) {
  const { connections, gateway, onHint, clock, log } = options;
  let sentAt = Number.NEGATIVE_INFINITY;
  let sending: NodeJS.Timeout | null = null;
  let listener: pg.Client | null = null;
  let again: NodeJS.Timeout | null = null;
  let isListening = false;
  let isClosed = false;
  let isSaid = false;

  function send(): void {
    sending = null;
    sentAt = clock.monotonic();
    connections.run(aside(notify(gateway)), DEADLINE).catch(() => undefined);
  }

  function retry(): void {
    isListening = false;
    listener = null;
    if (isClosed || again !== null) return;
    again = setTimeout(() => {
      again = null;
      listen().catch(sayUnheard);
    }, options.jitter(AGAIN));
  }

  function sayUnheard(error: unknown): void {
    if (!isSaid && !isClosed) log.warn({ reason: failureWords(error) }, UNHEARD);
    isSaid = true;
  }

  async function listen(): Promise<void> {
    const client = new pg.Client({
      connectionString: options.listenUrl,
      connectionTimeoutMillis: DEADLINE,
      keepAlive: true,
      application_name: `keyway ${gateway} listen`,
    });
    listener = client;
    client.on('error', () => undefined);
    client.on('end', retry);
    client.on('notification', ({ payload }) => {
      if (payload !== gateway) onHint();
    });
    try {
      await client.connect();
      if (await isHandedOn(client)) {
        log.info(
          {},
          'no hints of changes come through a connection pooler: --database-listen-url names the database itself',
        );
        isClosed = true;
        await client.end();
        return;
      }
      await client.query(`listen ${NOTIFY_CHANNEL}`);
      isListening = true;
      isSaid = false;
      // Hints may have been missed while the connection was down.
      onHint();
    } catch (error) {
      sayUnheard(error);
      await client.end().catch(() => undefined);
      retry();
    }
  }

  listen().catch(sayUnheard);
  return {
    /** Tells the others that something was committed here, by itself, a limited number of times a second. */
    changed(): void {
      sending ??= setTimeout(send, Math.max(0, sentAt + GAP - clock.monotonic()));
    },
    /** Tells whether hints of others are received. */
    isListening: (): boolean => isListening,
    close(): void {
      isClosed = true;
      for (const timer of [sending, again]) if (timer !== null) clearTimeout(timer);
      // Nobody waits for the other side, which may never answer.
      listener?.end().catch(() => undefined);
    },
  };
}

/** Tells whether another process answers than the one that accepted the connection, as happens behind a pooler. */
async function isHandedOn(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  // The client has it for cancelling queries, but its types do not declare it.
  const { processID } = client as unknown as { readonly processID: number | null };
  return processID !== null && rows[0]?.pid !== processID;
}
