import { type Answer, isSuccess } from '../client/call.js';
import { dataIn, isJsonObject } from '../wire/json/json.js';
import type { AskedServer } from './asked-server.js';
import type { Pair } from './pair.js';

interface ServerStatus {
  readonly version: string;
  /** Milliseconds. */
  readonly uptime: number;
}

const SIDES = ['target', 'shadow'] as const;

/** The status of each server; null for one that tells none. */
export type Told = Readonly<Record<(typeof SIDES)[number], ServerStatus | null>>;

/** Milliseconds by which two answers may disagree about when a server was started. */
const TOLERANCE = 5_000;

/** Notices that one of the servers was updated, or that the target was started again. */
export class UpdateWatch {
  readonly #before: Readonly<Record<keyof Told, string>>;
  #uptime = 0;
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor({ target, shadow }: Pair) {
    this.#before = { target: target.found.version, shadow: shadow.server.found.version };
  }

  /** Takes what the servers tell to who asks at a time of the machine's clock; returns what has become of them, or null. */
  changeIn(told: Told, at: number): string | null {
    for (const side of SIDES) {
      const now = told[side]?.version ?? this.#before[side];
      if (now !== this.#before[side]) return `the ${side} was of version ${this.#before[side]}, and is of ${now}`;
    }
    return told.target !== null && this.#isStartedAgain(told.target.uptime, at) ? 'the target was started again' : null;
  }

  /** An answer that was long on its way tells a lower uptime, too, but not another start. */
  #isStartedAgain(uptime: number, at: number): boolean {
    const isAgain = uptime < this.#uptime && at - uptime > this.#startedAt + TOLERANCE;
    this.#uptime = uptime;
    this.#startedAt = Math.max(this.#startedAt, at - uptime);
    return isAgain;
  }
}

/** Asks both for their status. */
export async function statusesOf({ target, shadow }: Pair): Promise<Told> {
  const ask = async (server: AskedServer) => statusIn(await server.send('GET', '/server/status').catch(() => null));
  return { target: await ask(target), shadow: await ask(shadow.server) };
}

/** Reads the answer of a status; null for none whose version is fit to be shown. */
export function statusIn(answer: Answer | null): ServerStatus | null {
  const data = answer === null || !isSuccess(answer.status) ? undefined : dataIn(answer.body);
  if (!isJsonObject(data) || typeof data.version !== 'string' || !/^[\w.+-]{1,40}$/.test(data.version)) return null;
  const { version, uptime_seconds: seconds } = data;
  return { version, uptime: typeof seconds === 'bigint' ? Number(seconds) * 1000 : 0 };
}
