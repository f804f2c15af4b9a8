import type { Sent, UpstreamServer } from '../../client/server.js';
import type { KeyFieldValues } from '../../core/keys/key-fields.js';
import { changedRecord, keyFields, recordOf } from '../../core/keys/key-record.js';
import type { AccessKey, KeySnapshot } from '../../core/model.js';
import { hasNames } from '../../wire/traits/snapshot.js';
import { SETTLED_AFTER } from '../../wire/traits/storing.js';
import type { CommandContext } from '../command.js';
import { printableKey } from './printable.js';

/** Columns of a key's record that are given; the others stay as they are. */
export type GivenFields = Partial<KeyFieldValues>;

/** The work of a command on one key. */
interface Made {
  readonly isNew: boolean;
  readonly given: GivenFields;
}

/** Gives a key other values. */
export async function changeKey(server: UpstreamServer, key: AccessKey, given: GivenFields): Promise<void> {
  const { limitBytes, ...others } = given;
  // A line that does not tell names would lose one that was sent back as none.
  if (Object.values(others).some((value) => value !== undefined)) await server.updateUser(changedRecord(key, given));
  else if (limitBytes !== undefined) await server.setLimit(key.accessKey, limitBytes);
}

/** The changes that a command makes on a running server, which may lose them although it has acknowledged them. */
export class MadeChanges {
  /** The same server; what is changed through it is remembered. */
  readonly server: UpstreamServer;
  readonly #within: UpstreamServer;
  /** By key; null for one that was removed. */
  readonly #made = new Map<string, Made | null>();

  constructor(server: UpstreamServer) {
    this.#within = server;
    const done = async (accessKey: string, made: Made | null, sent: Promise<Sent<void>>): Promise<Sent<void>> => {
      const answer = await sent;
      this.#made.set(accessKey, made);
      return answer;
    };
    this.server = {
      ...server,
      createUser: (key) => done(key.accessKey, { isNew: true, given: key }, server.createUser(key)),
      updateUser: (key) => done(key.accessKey, this.#changed(key.accessKey, key), server.updateUser(key)),
      setLimit: (accessKey, limitBytes) =>
        done(accessKey, this.#changed(accessKey, { limitBytes }), server.setLimit(accessKey, limitBytes)),
      deleteUser: (accessKey) => done(accessKey, null, server.deleteUser(accessKey)),
    };
  }

  #changed(accessKey: string, given: GivenFields): Made {
    const before = this.#made.get(accessKey);
    return { isNew: before?.isNew ?? false, given: { ...before?.given, ...given } };
  }

  /** Says in sentences for people how long the changes last; null where nothing was made, or it lasts. */
  warning(): string | null {
    const reason = this.#within.line()?.storing.undoneBecause ?? null;
    // Nobody knows it of a server later than the last known one.
    if (this.#made.size === 0 || reason === null || this.#within.isLater()) return null;
    return `This does not outlive the server's next start: servers of ${this.#within.version()} ${reason}. Through a Keyway in front of it, it does: keyway serve --upstream ${this.#within.name}`;
  }

  /**
   * Looks 7 s later whether the server still has them, and makes again what it has lost, twice at most; the first signal ends
   * the waiting. Rejects with an `Error` for people that names what is lost all the same.
   */
  async settle(context: CommandContext): Promise<void> {
    const stopped = context.untilStopped().then(() => 'stopped' as const);
    for (let tries = 0; ; tries += 1) {
      context.progress.show(`waiting for ${SETTLED_AFTER / 1000} s: the server may lose what it has acknowledged`);
      if ((await Promise.race([context.wait(SETTLED_AFTER), stopped])) === 'stopped')
        throw new Error('stopped: whether the server has kept the changes was not looked at (--no-wait never looks)');
      const lost = this.#lost((await this.#within.listUsers()).value);
      context.progress.clear();
      if (lost.length === 0) return;
      if (tries === TRIES) throw new Error(`the server has not kept ${named(lost)}; change them again`);
      context.complain(`The server has lost changes of ${named(lost)}: they are made again.`);
      for (const accessKey of lost) await this.#makeAgain(accessKey);
    }
  }

  #lost(keys: readonly KeySnapshot[]): readonly string[] {
    const present = new Map(keys.map((key) => [key.accessKey, key]));
    const line = this.#within.line();
    const told = keyFields.filter(({ name }) => name !== 'name' || line === null || hasNames(line.snapshot));
    const isKept = (found: KeySnapshot | undefined, made: Made | null): boolean => {
      if (made === null || found === undefined) return made === null && found === undefined;
      return told.every(({ name }) => made.given[name] === undefined || made.given[name] === found[name]);
    };
    return [...this.#made].flatMap(([key, made]) => (isKept(present.get(key), made) ? [] : [key]));
  }

  async #makeAgain(accessKey: string): Promise<void> {
    const made = this.#made.get(accessKey);
    if (made === undefined) return;
    if (made === null) {
      await this.#within.deleteUser(accessKey);
      return;
    }
    const { isNew, given } = made;
    // A key that was there before and is gone now was taken away by somebody.
    const { value: found } = await this.#within.getUser(accessKey);
    if (found !== undefined) await changeKey(this.#within, found, given);
    else if (isNew) await this.#within.createUser(recordOf(accessKey, given));
  }
}

/** Rounds in which lost changes are made again. */
const TRIES = 2;
/** The most keys that are named. */
const SHOWN = 20;

function named(keys: readonly string[]): string {
  const more = keys.length > SHOWN ? ` and ${keys.length - SHOWN} more` : '';
  return `${keys.slice(0, SHOWN).map(printableKey).join(', ')}${more}`;
}
