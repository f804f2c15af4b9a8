import { createHmac } from 'node:crypto';
import type { Problem, ProblemKinds } from '../core/backend.js';
import type { KeptRecords } from '../core/kept-records.js';
import { onMonotonicClock } from '../core/kept-time.js';
import { keyDigest } from '../core/key-digest.js';
import type { ClockPort, LogPort } from '../core/ports.js';
import { failureWords } from '../platform/failure-words.js';
import { encodeJson } from '../wire/json/write-json.js';
import type { EventKey, Events, OwnEvent } from './events.js';

export interface WebhookOptions {
  readonly url: string;
  /** The bytes by which messages are signed. */
  readonly secret: Buffer;
  readonly events: Events;
  readonly records: KeptRecords;
  readonly clock: ClockPort;
  readonly log: LogPort;
  /** The pauses between attempts at one message, in milliseconds; the last one repeats. For tests. */
  readonly pauses?: readonly number[];
}

const MINUTE = 60_000;
const PAUSES = [5_000, 30_000, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 60 * MINUTE];
/** Milliseconds for one attempt, and after which an event is abandoned. */
const PATIENCE = 15_000;
const GIVEN_UP = 86_400_000;
/** Milliseconds between two checks that it is this gateway that delivers. */
const LOOK = 2_000;
/** The record of the last event that was accepted or abandoned. */
const POSITION = { kind: 'events', id: 'webhook' } as const;

/** The deliveries of a webhook since the start. */
export interface WebhookStatus {
  readonly accepted: number;
  /** Attempts that failed. */
  readonly failed: number;
  readonly abandoned: number;
  /** The event that is not accepted: why, and how long ago it occurred, in milliseconds; null where the last attempt succeeded. */
  readonly failing: { readonly reason: string; readonly since: number } | null;
}

/** Sends every event to one address, in order and signed (Standard Webhooks), until it is accepted or a day old. */
export class Webhook {
  /** The receiver is somebody else's. */
  readonly problemKinds = { webhook_failing: 'outside' } as const satisfies ProblemKinds;
  readonly #options: WebhookOptions;
  readonly #end = new AbortController();
  /** Ends the attempt that is on its way. A signal that all attempts had in common would remember each of them. */
  #attempt = new AbortController();
  #wake: (() => void) | null = null;
  #working: Promise<void> = Promise.resolve();
  #accepted = 0;
  #failed = 0;
  #abandoned = 0;
  /** Why the last attempt failed; null where it succeeded. */
  #reason: string | null = null;
  /** The event that is being sent, and when it occurred; monotonic, ms. */
  #sending: { readonly id: string; readonly since: number } | null = null;

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.events.onChange(() => this.#wake?.());
    this.#working = this.#work();
  }

  status(): WebhookStatus {
    const [reason, sending] = [this.#reason, this.#sending];
    const isFailing = reason !== null && sending !== null;
    return {
      ...{ accepted: this.#accepted, failed: this.#failed, abandoned: this.#abandoned },
      failing: isFailing ? { reason, since: this.#options.clock.monotonic() - sending.since } : null,
    };
  }

  /** Returns what is wrong with the deliveries. */
  problems(): readonly Problem<'webhook_failing'>[] {
    const { failing } = this.status();
    if (failing === null) return [];
    const minutes = Math.floor(failing.since / MINUTE);
    const reason = `the webhook does not take an event that is ${minutes} min old: ${failing.reason}; it is sent again for a day`;
    return [{ problem: 'webhook_failing', reason }];
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#attempt.abort();
    this.#wake?.();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { events, pauses = PAUSES } = this.#options;
    let tries = 0;
    while (!this.#end.signal.aborted) {
      const event = events.isHolder() ? await this.#next() : null;
      if (event === null) {
        // Nothing waits here: it was given up, or another gateway sends it by now.
        this.#sending = null;
        await this.#pause(LOOK);
        continue;
      }
      if ((await this.#deliver(event)) === 'retry') {
        await this.#pause(pauses[Math.min(tries, pauses.length - 1)] ?? LOOK, { isWoken: false });
        tries += 1;
      } else {
        tries = 0;
        await this.#note(event.id);
      }
    }
  }

  /** Returns the next event to send. A new webhook starts behind the newest event. */
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

  /** Makes one attempt at an event, and logs when the webhook begins or ceases to fail. */
  async #deliver(event: OwnEvent): Promise<'accepted' | 'retry' | 'abandoned'> {
    const { clock, log } = this.#options;
    const since = this.#sinceOf(event);
    const reason = await this.#send(event);
    // An attempt that the end cut off says nothing of the receiver.
    if (reason !== null && this.#end.signal.aborted) return 'retry';
    const wasFailing = this.#reason !== null;
    this.#reason = reason;
    if (reason === null) {
      this.#accepted += 1;
      if (wasFailing) log.info({}, 'the webhook takes events again');
      return 'accepted';
    }
    this.#failed += 1;
    if (!wasFailing) log.warn({ reason }, 'the webhook does not take an event; it is sent again for a day');
    if (clock.monotonic() - since < GIVEN_UP) return 'retry';
    this.#abandoned += 1;
    log.error(
      { event: event.id, type: event.type, reason },
      'an event is given up that the webhook did not take for a day',
    );
    return 'abandoned';
  }

  /**
   * Converts the event's time of day to the monotonic clock once, because the time of day may be set while the webhook
   * fails.
   */
  #sinceOf({ id, time }: OwnEvent): number {
    if (this.#sending?.id !== id)
      this.#sending = { id, since: onMonotonicClock(this.#options.clock, Date.parse(time)) };
    return this.#sending.since;
  }

  /** Posts an event. Resolves to why it was not accepted, or null. */
  async #send(event: OwnEvent): Promise<string | null> {
    const { url, secret, clock } = this.#options;
    if (this.#end.signal.aborted) return 'it ends';
    this.#attempt = new AbortController();
    const body = encodeJson({ type: event.type, timestamp: event.time, data: withoutKeys(event) });
    const timestamp = String(Math.floor(clock.now() / 1000));
    try {
      const answer = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        signal: AbortSignal.any([this.#attempt.signal, AbortSignal.timeout(PATIENCE)]),
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
      // The event is sent again, with the same id.
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

function withoutKey({ access_key: accessKey, name, changes }: EventKey) {
  const told = changes?.map((change) =>
    'from' in change && change.member === 'access_key'
      ? { ...change, from: keyDigest(String(change.from)), to: keyDigest(String(change.to)) }
      : change,
  );
  return { name, digest: keyDigest(accessKey), ...(told === undefined ? {} : { changes: told }) };
}

/** Replaces keys by their names and digests, because a key is a credential. */
function withoutKeys({ data }: OwnEvent) {
  const members = Object.entries(data).map(([name, value]) => {
    if (typeof value !== 'object' || value === null) return [name, value];
    return [name, value.map(withoutKey)];
  });
  return Object.fromEntries(members);
}

/** The bytes of a secret as Standard Webhooks writes it: `whsec_` and Base64. */
export function secretBytes(text: string): Buffer {
  return Buffer.from(text.replace(/^whsec_/, ''), 'base64');
}
