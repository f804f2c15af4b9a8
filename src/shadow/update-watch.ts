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

/** Notices that one of the servers was updated or started again. */
export class UpdateWatch {
  readonly #before: Readonly<Record<keyof Told, string>>;
  readonly #starts = { target: new Start(), shadow: new Start() };

  constructor({ target, shadow }: Pair) {
    this.#before = { target: target.found.version, shadow: shadow.server.found.version };
  }

  /** Takes what the servers tell to who asks at a time of the machine's clock; returns what has become of them, or null. */
  changeIn(told: Told, at: number): string | null {
    for (const side of SIDES) {
      const now = told[side];
      if (now === null) continue;
      const before = this.#before[side];
      if (now.version !== before) return `the ${side} was of version ${before}, and is of ${now.version}`;
      if (this.#starts[side].isAgain(now.uptime, at)) return `the ${side} was started again`;
    }
    return null;
  }
}

/** The start of a server, by the uptimes that it tells. */
class Start {
  #uptime = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** An answer that was long on its way tells a lower uptime, too, but not another start. */
  isAgain(uptime: number, at: number): boolean {
    const isAgain = uptime < this.#uptime && at - uptime > this.#at + TOLERANCE;
    this.#uptime = uptime;
    this.#at = Math.max(this.#at, at - uptime);
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
