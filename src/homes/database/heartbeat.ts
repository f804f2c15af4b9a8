import { KEPT_AFTER_REMOVAL } from '../../core/keys/removed-keys.js';
import type { LogPort } from '../../core/ports.js';
import { type Connections, StatementError } from './connection.js';
import type { Jitter } from './jitter.js';
import { aside, FIGURES, forget, leaveGateway, seeGateway } from './statements.js';

export interface HeartbeatOptions {
  readonly connections: Pick<Connections, 'run'>;
  readonly gateway: string;
  /** The database has taken a sign of life. */
  readonly isTaken: () => void;
  readonly jitter: Jitter;
  readonly log: LogPort;
  /** Between two signs of life; default 15 s. */
  readonly heartbeatMilliseconds?: number;
}

/** Figures that the database gives of the state. */
export interface StateFigures {
  /** Bytes of each table with its indexes. */
  readonly tables: ReadonlyMap<string, number>;
  /** Statements over tables of the schema that wait for what others have locked. */
  readonly lockWaits: number;
}

/** Milliseconds. */
const HEARTBEAT = 15_000;
const FORGETTING = 60_000;
const DEADLINE = 5_000;
/** Ids of reports that are remembered at most, of those of a day; each takes some 200 bytes of disk. */
const MOST_REPORTS = 10_000_000;

/** Says from time to time that the gateway lives, asks for figures, and has the database forget what nobody needs. */
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

  /** Why the database takes no sign of life, where it has refused one; null where it does. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /** The figures of the last question; null before the first. */
  get figures(): StateFigures | null {
    return this.#figures;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Tells the others that this gateway's connections count no more. */
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

  /** Nobody waits for it, and the next time does it again. Only what the database refuses is said: that it is away is known. */
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
