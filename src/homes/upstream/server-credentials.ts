import type { UpstreamServer } from '../../client/server.js';
import type { Credentials, ListenerConfig, ServerConfiguration } from '../../core/model.js';
import type { LogPort } from '../../core/ports.js';
import type { ConfigurationDoor } from './configuration.js';

/** Where the server itself is signed in to, and by whom: a gateway in front of it lets the same people in. */
export interface KnownListener {
  /** What was given, and of what was not the server's own as last known. Null where nothing was given. */
  now(): ListenerConfig | null;
  /** What a configuration says of it. */
  take(configuration: ServerConfiguration): void;
  /** Reads token, name and the hash of the password where they were not given. Never rejects. */
  learn(): Promise<void>;
}

export interface KnownListenerOptions {
  readonly given: ListenerConfig | null;
  readonly server: Pick<UpstreamServer, 'name' | 'line'>;
  readonly configuration: Pick<ConfigurationDoor, 'read'>;
  readonly onChange: () => void;
  readonly log: LogPort;
}

export function createKnownListener({
  given,
  server,
  configuration,
  onChange,
  log,
}: KnownListenerOptions): KnownListener {
  const isWanted = given !== null && (given.token === null || given.username === '');
  let own: Credentials | null = null;

  function take({ listener }: Pick<ServerConfiguration, 'listener'>): void {
    if (!isWanted) return;
    const { token = null, username = '', passwordHash = '' } = listener ?? {};
    const before = JSON.stringify(own);
    own = { token, username, passwordHash };
    if (JSON.stringify(own) !== before) onChange();
  }

  return {
    now() {
      if (given === null || own === null) return given;
      const { username, passwordHash } = given.username === '' ? own : given;
      return { ...given, token: given.token ?? own.token, username, passwordHash };
    },
    take,
    async learn() {
      if (!isWanted || server.line()?.capabilities.config === undefined) return;
      try {
        take((await configuration.read('poll')).value.configuration);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        log.warn({ upstream: server.name, reason }, 'whom the server lets in could not be read from its configuration');
      }
    },
  };
}
