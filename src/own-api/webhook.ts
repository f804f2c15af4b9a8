import { createHmac } from 'node:crypto';
import type { KeptRecords } from '../core/kept-records.js';
import { onMonotonicClock } from '../core/kept-time.js';
import { keyDigest } from '../core/key-digest.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { failureWords } from '../platform/failure-words.js';
import type { Events, OwnEvent } from './events.js';

export interface WebhookOptions {
  readonly url: string;
  /** The bytes by which messages are signed. */
  readonly secret: Buffer;
  readonly events: Events;
  readonly records: KeptRecords;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** The pauses between tries of one message, milliseconds; the last goes on. For tests. */
  readonly pauses?: readonly number[];
}

const MINUTE = 60_000;
const PAUSES = [5_000, 30_000, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE];
/** Milliseconds for one try, and after which an event is given up. */
const PATIENCE = 15_000;
const GIVEN_UP = 86_400_000;
/** Milliseconds between two looks whether this gateway is to deliver. */
const LOOK = 2_000;
/** The record of the last event that is done with. */
const POSITION = { kind: 'events', id: 'webhook' } as const;

/** Sends every event to one address, in order and signed (Standard Webhooks), until each is taken or a day old. */
export class Webhook {
  readonly #options: WebhookOptions;
  readonly #end = new AbortController();
  #wake: (() => void) | null = null;
  #working: Promise<void> = Promise.resolve();
  #isFailing = false;
  /** The event that is being sent, and when it came about; monotonic, ms. */
  #sending: { readonly id: string; readonly since: number } | null = null;

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.events.onChange(() => this.#wake?.());
    this.#working = this.#work();
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#wake?.();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { events, pauses = PAUSES } = this.#options;
    let tries = 0;
    while (!this.#end.signal.aborted) {
      const event = events.isHolder() ? await this.#next() : null;
      if (event === null) {
        await this.#pause(LOOK);
        continue;
      }
      if (await this.#isDone(event)) {
        tries = 0;
        await this.#note(event.id);
      } else {
        await this.#pause(pauses[Math.min(tries, pauses.length - 1)] ?? LOOK, { isWoken: false });
        tries += 1;
      }
    }
  }

  /** The first event that is still to be sent; what happened before there was a webhook is none. */
  async #next(): Promise<OwnEvent | null> {
    const { events, records } = this.#options;
    const position = records.of(POSITION.kind).get(POSITION.id);
    if (position === undefined) {
      await this.#note(events.newest);
      return null;
    }
    const last = String(JSON.parse(position));
    const [next = null] = events.after(last, 1) ?? events.latest(Number.MAX_SAFE_INTEGER);
    return next;
  }

  /** Sends an event; false where it is to be sent again. */
  async #isDone(event: OwnEvent): Promise<boolean> {
    const { clock, log } = this.#options;
    const since = this.#sinceOf(event);
    const reason = await this.#send(event);
    if (reason === null) {
      if (this.#isFailing) log.info({}, 'the webhook takes events again');
      this.#isFailing = false;
      return true;
    }
    if (!this.#isFailing) log.warn({ reason }, 'the webhook does not take an event; it is sent again for a day');
    this.#isFailing = true;
    if (this.#end.signal.aborted || clock.monotonic() - since < GIVEN_UP) return false;
    log.error(
      { event: event.id, type: event.type, reason },
      'an event is given up that the webhook did not take for a day',
    );
    return true;
  }

  /** The event's time of day is read once: that may be set while the webhook takes nothing. */
  #sinceOf({ id, time }: OwnEvent): number {
    if (this.#sending?.id !== id)
      this.#sending = { id, since: onMonotonicClock(this.#options.clock, Date.parse(time)) };
    return this.#sending.since;
  }

  /** Resolves to why it was not taken; null where it was. */
  async #send(event: OwnEvent): Promise<string | null> {
    const { url, secret, clock } = this.#options;
    const body = JSON.stringify({ type: event.type, timestamp: event.time, data: withoutKeys(event) });
    const timestamp = String(Math.floor(clock.now() / 1000));
    try {
      const answer = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        signal: AbortSignal.any([this.#end.signal, AbortSignal.timeout(PATIENCE)]),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'keyway',
          'webhook-id': event.id,
          'webhook-timestamp': timestamp,
          'webhook-signature': signature(secret, event.id, timestamp, body),
        },
        body,
      });
      await answer.body?.cancel();
      return answer.ok ? null : `status ${answer.status}`;
    } catch (error) {
      return failureWords(error instanceof Error && error.cause !== undefined ? error.cause : error);
    }
  }

  async #note(id: string): Promise<void> {
    await this.#options.records.change([{ ...POSITION, body: JSON.stringify(id) }]).catch(async () => {
      // It is sent again, by the same id.
      await this.#pause(LOOK, { isWoken: false });
    });
  }

  #pause(milliseconds: number, { isWoken = true } = {}): Promise<void> {
    if (this.#end.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const { signal } = this.#end;
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#wake = null;
        resolve();
      };
      const timer = setTimeout(done, milliseconds).unref();
      signal.addEventListener('abort', done);
      this.#wake = isWoken ? done : null;
    });
  }
}

/** The signature of a message (Standard Webhooks, symmetric). */
export function signature(secret: Buffer, id: string, timestamp: string, body: string): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** The data with keys by their names and digests: who has a key is let in by it. */
function withoutKeys({ data }: OwnEvent) {
  const members = Object.entries(data).map(([name, value]) => {
    if (typeof value !== 'object' || value === null) return [name, value];
    return [name, value.map((key) => ({ name: key.name, digest: keyDigest(key.access_key) }))];
  });
  return Object.fromEntries(members);
}

/** The bytes of a secret as Standard Webhooks writes it: `whsec_` and Base64. */
export function secretBytes(text: string): Buffer {
  return Buffer.from(text.replace(/^whsec_/, ''), 'base64');
}
