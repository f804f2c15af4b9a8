import type { ChangeReason } from './backend.js';
import { messageOf } from './errors.js';
import type { LogPort } from './ports.js';

/**
 * Those who follow the configuration. Each is told for itself: sessions must end with changed credentials although a resolver
 * could not follow.
 */
export class ChangeListeners {
  readonly #log: LogPort;
  readonly #listeners: ((reason: ChangeReason) => void)[] = [];

  constructor(log: LogPort) {
    this.#log = log;
  }

  readonly add = (listener: (reason: ChangeReason) => void): void => {
    this.#listeners.push(listener);
  };

  tell(reason: ChangeReason): void {
    for (const listener of this.#listeners) {
      try {
        listener(reason);
      } catch (error) {
        this.#log.error({ reason: messageOf(error) }, 'a change of the configuration could not be followed');
      }
    }
  }
}
