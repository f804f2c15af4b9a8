import { type IncomingMessage, ServerResponse } from 'node:http';
import type { ClockPort } from '../core/ports.js';
import type { OperationName } from '../wire/operations.js';
import type { Mount } from './mount.js';

/** What a request was for. `other`: preflights, and what no mount serves. */
export type Asked = OperationName | 'panel' | 'other';

/** How a login ended; `waiting`: the guard had the caller wait, and the password was not looked at. */
export type LoginOutcome = 'begun' | 'refused' | 'waiting';

/** Told of one answer when its last part was handed to the system: its status, and milliseconds since the request's head. */
export type AnswerObserver = (status: number, milliseconds: number) => void;

/** Told of every answer that goes over a socket, and of logins; for metrics. Nothing of it may throw. */
export interface RequestsObserver {
  /** Asked once for everything that can be asked for. The mount is null for `other`. */
  answersTo(asked: Asked, mount: Mount | null): AnswerObserver;
  login(mount: Mount, outcome: LoginOutcome): void;
}

/** How answers are observed: by the server's own kind of response, so that none is missed and a small one costs next to nothing. */
export interface Observing {
  /** The server's `ServerResponse` option; absent for Node's own. */
  readonly serverOptions: { readonly ServerResponse?: typeof ServerResponse };
  /** Gives what routes call with the response before anything else, to say what was asked for. */
  marking(asked: Asked, mount: Mount): (response: ServerResponse) => void;
}

const NOT_OBSERVING: Observing = { serverOptions: {}, marking: () => () => undefined };

/** Observes nothing, at no cost, when there is no observer. */
export function createObserving(observer: RequestsObserver | null, clock: ClockPort): Observing {
  if (observer === null) return NOT_OBSERVING;
  const other = observer.answersTo('other', null);

  class ObservedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    answered: AnswerObserver | null = other;
    readonly startedAt = clock.monotonic();

    // Not the `finish` event: a listener costs more than all else about being observed.
    override end(...rest: unknown[]): this {
      this.answered?.(this.statusCode, clock.monotonic() - this.startedAt);
      this.answered = null;
      return Reflect.apply(super.end, this, rest);
    }
  }

  return {
    serverOptions: { ServerResponse: ObservedResponse },
    marking(asked, mount) {
      const answered = observer.answersTo(asked, mount);
      return (response) => {
        if (response instanceof ObservedResponse) response.answered = answered;
      };
    },
  };
}
