import type { Core } from '../core/core.js';
import { DomainError } from '../core/errors.js';
import type { KeySnapshot, Published } from '../core/model.js';
import type { ClockPort } from '../core/ports.js';
import { StrangersWaiting } from '../core/strangers-waiting.js';
import { DECOY, type SubscriptionAnswer, subscriptionAnswer, unavailable, type WantedForm } from './answers.js';
import { type OfferFacts, offerOf } from './offer.js';
import { Subscribers } from './subscribers.js';
import { tokenIn } from './token.js';

export interface SubscriptionDoorOptions {
  readonly core: Pick<Core, 'keys' | 'subscriber' | 'lookForKeys' | 'published'>;
  /** The place where clients find the server, once it is known what is published of it. */
  readonly offerFacts: (published: Published) => OfferFacts;
  readonly clock: ClockPort;
  /** The key of an address that has outlived the key that it was made from. */
  readonly keptKey?: (token: string) => string | undefined;
}

export interface SubscriptionRequest extends Omit<WantedForm, 'query'> {
  readonly method: string;
  /** The request target in origin form (RFC 9112, 3.2.1). */
  readonly url: string;
}

/** The answer to a request, and the key that it is about; null for none. */
export interface SubscriptionOutcome {
  readonly answer: SubscriptionAnswer;
  readonly accessKey: string | null;
}

/** The outcome of a request that is answered as if nothing were there. */
export const DECOYED: SubscriptionOutcome = { answer: DECOY, accessKey: null };

/** Answers `<prefix>/<token>` as servers from 0.4.6 on do; `/subscribe/{key}` of the API is not served here. */
export class SubscriptionDoor {
  readonly #options: SubscriptionDoorOptions;
  readonly #subscribers: Subscribers;
  readonly #waiting = new StrangersWaiting();

  constructor(options: SubscriptionDoorOptions) {
    this.#options = options;
    this.#subscribers = new Subscribers(options.core, options.clock, this.#waiting, options.keptKey);
  }

  /** Resolves to the function that answers the request; to null where its path is not below the prefix. */
  async open(request: SubscriptionRequest): Promise<(() => Promise<SubscriptionOutcome>) | null> {
    const [path = '', query = ''] = request.url.split(/\?(.*)/s, 2);
    try {
      const published = await this.#waiting.count(this.#options.core.published());
      const { prefix } = published.subscription;
      if (path !== prefix && !path.startsWith(`${prefix}/`)) return null;
      const token = READING.has(request.method) ? tokenIn(path.slice(prefix.length + 1)) : null;
      return async () => (token === null ? DECOYED : this.#answer(token, published, { ...request, query }));
    } catch (error) {
      const outcome = undecided(error);
      // Any path may be below a prefix that is not known: what ends like a subscription is not said to be gone.
      const isLikeOne = READING.has(request.method) && tokenIn(path.slice(path.lastIndexOf('/') + 1)) !== null;
      return isLikeOne ? async () => outcome : null;
    }
  }

  async #answer(token: string, published: Published, wanted: WantedForm): Promise<SubscriptionOutcome> {
    try {
      const key = await this.#subscribers.find(token);
      return key === undefined ? DECOYED : this.#tell(key, published, wanted);
    } catch (error) {
      return undecided(error);
    }
  }

  #tell(key: KeySnapshot, published: Published, wanted: WantedForm): SubscriptionOutcome {
    // Finding the key may be what tells how its server is announced, where the state is elsewhere.
    const offer = offerOf(this.#options.offerFacts(published));
    return { answer: subscriptionAnswer(key, offer, wanted), accessKey: key.accessKey };
  }
}

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD']);

function undecided(error: unknown): SubscriptionOutcome {
  if (!(error instanceof DomainError)) throw error;
  return { answer: unavailable(error.retryAfter), accessKey: null };
}
