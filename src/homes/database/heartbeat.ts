import { KEPT_AFTER_REMOVAL } from '../../core/keys/removed-keys.js';
import type { LogPort } from '../../core/ports.js';
import { type Connections, StatementError } from './connection.js';
import type { Jitter } from './jitter.js';
import { aside, FIGURES, forget, leaveGateway, seeGateway } from './statements.js';

export interface HeartbeatOptions {
  readonly connections: Pick<Connections, 'run'>;
  readonly gateway: string;
  /** Called when the database has accepted a sign of life. */
  readonly isTaken: () => void;
  readonly jitter: Jitter;
  readonly log: LogPort;
  /** Milliseconds between two signs of life; default 15 s. */
  readonly heartbeatMilliseconds?: number;
}

/** Figures of the state, read from the database. */
export interface StateFigures {
  /** Bytes of each table with its indexes. */
  readonly tables: ReadonlyMap<string, number>;
  /** Statements over tables of the schema that wait for locks of others. */
  readonly lockWaits: number;
}

/** In milliseconds. */
const HEARTBEAT = 15_000;
const FORGETTING = 60_000;
const DEADLINE = 5_000;
/** The most ids of reports that are remembered, of those of a day; each takes some 200 bytes of disk. */
const MOST_REPORTS = 10_000_000;

/** Periodically reports that the gateway is alive, reads figures, and has the database forget old data. */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #timers: readonly NodeJS.Timeout[];
  #refusal: string | null = null;
  #figures: StateFigures | null = null;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    const { jitter, heartbeatMilliseconds = HEARTBEAT } = options;
    this.#timers = [
      this.#every(jitter(heartbeatMilliseconds), () => this.#readFigures()),
      this.#every(jitter(heartbeatMilliseconds), () => this.#beSeen()),
      this.#every(jitter(FORGETTING), () => this.#run(aside(forget(MOST_REPORTS, KEPT_AFTER_REMOVAL)))),
    ];
  }

  /** Why the database last refused a sign of life; null if it did not. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** The figures last read; null before the first reading. */
  get figures(): StateFigures | null {
    return this.#figures;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Tells the others that this gateway's connections no longer count. */
  async leave(): Promise<void> {
    const { connections, gateway } = this.#options;
    await connections.run(aside(leaveGateway(gateway)), 1_000).catch(() => undefined);
  }

  #run(text: string): ReturnType<Connections['run']> {
    return this.#options.connections.run(text, DEADLINE);
  }

  async #beSeen(): Promise<void> {
    try {
      await this.#run(aside(seeGateway(this.#options.gateway)));
      this.#refusal = null;
      this.#options.isTaken();
    } catch (error) {
      if (error instanceof StatementError && error.reached === 'refused') this.#refusal = error.message;
      throw error;
    }
  }

  async #readFigures(): Promise<void> {
    const rows = (await this.#run(FIGURES)).at(-1) ?? [];
    const tables = rows.flatMap(([name = null, bytes]): [string, number][] =>
      name === null ? [] : [[name, Number(bytes)]],
    );
    this.#figures = { tables: new Map(tables), lockWaits: Number(rows.find(([name]) => name == null)?.[1] ?? 0) };
  }

  /**
   * Repeats work whose failure the next run makes up for. Only refusals are logged, because it is known anyway that the
   * database is away.
   */
  #every(milliseconds: number, work: () => Promise<unknown>): NodeJS.Timeout {
    const timer = setInterval(() => {
      work().catch((error: unknown) => {
        if (error instanceof StatementError && error.reached === 'refused')
          this.#options.log.error(
            { reason: error.message },
            'the database did not do what a gateway does from time to time',
          );
      });
    }, milliseconds);
    return timer.unref();
  }
}
